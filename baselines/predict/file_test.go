package predict

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/formattest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

func saved(t rapid.TB, p Predictor) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Save(&b, p))
	return b.Bytes()
}

func loaded(t rapid.TB, b []byte) Predictor {
	t.Helper()
	return must.Get(load(bytes.NewReader(b)))(t)
}

// TestLoadedGoesOn checks that a loaded predictor is saved as the same bytes, and predicts like the one that was saved, also
// after Reset.
func TestLoadedGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		past, future, seed := drawJobs(t), drawJobs(t), rapid.Uint64().Draw(t, "seed")
		for n, p := range all() {
			answers(t, past, p, 0)
			b := saved(t, p)
			q := loaded(t, b)
			if q.Name() != p.Name() || !bytes.Equal(saved(t, q), b) {
				t.Fatalf("%s loaded is %s, or saves as other bytes", p.Name(), q.Name())
			}
			first, _ := answers(t, future, q, seed)
			if again, _ := answers(t, future, q, seed); !slices.Equal(first, again) {
				t.Fatalf("%s after Reset: %v, want %v", p.Name(), again, first)
			}
			if !bytes.Equal(saved(t, loaded(t, b)), b) {
				t.Fatalf("%s: loading is not repeatable", p.Name())
			}
			// p was not loaded: a Reset would clear what it has learned
			q.Reset(0)
			for i := range future {
				x, cold := p.Predict(&future[i].JobSpec)
				y, coldToo := q.Predict(&future[i].JobSpec)
				if x != y || cold != coldToo {
					t.Fatalf("%s (%d) says %v of job %d, loaded %v", p.Name(), n, x, i, y)
				}
				p.Observe(&future[i].JobSpec, trueIterations(&future[i]))
				q.Observe(&future[i].JobSpec, trueIterations(&future[i]))
			}
			if !bytes.Equal(saved(t, p), saved(t, q)) {
				t.Fatalf("%s learns something else once loaded", p.Name())
			}
		}
	})
}

// TestNewOpensFiles checks that New opens files.
func TestNewOpensFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.predictor")
	p := newGroupMean()
	p.Observe(&cluster.JobSpec{Group: "g", Workers: 1}, 33)
	must.Do(t, os.WriteFile(path, saved(t, p), 0o600))
	q := must.Get(New(path))(t)
	if x, cold := q.Predict(&cluster.JobSpec{Group: "g", Workers: 1}); x != 33 || cold {
		t.Errorf("%v, cold %v", x, cold)
	}
	must.Do(t, os.WriteFile(path, []byte("no"), 0o600))
	if _, err := New(path); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "x.predictor: load predictor") {
		t.Errorf("a file of something else: %v", err)
	}
}

type foreign struct{ Predictor }

func TestFileMistakes(t *testing.T) {
	if err := Save(&bytes.Buffer{}, foreign{newGranted()}); err == nil || !strings.Contains(err.Error(), "foreign") {
		t.Errorf("a predictor of another package: %v", err)
	}
	if err := Save(&bytes.Buffer{}, newNoisy(newNoisy(newGranted(), 1), 1)); err == nil {
		t.Error("noise twice is saved")
	}
	mean, grown := newGroupMean(), NewForest(eager())
	mean.Observe(&cluster.JobSpec{Group: "g", Workers: 1}, 33)
	answers(t, recurrent(t, 30), grown, 1)
	for _, c := range []struct {
		name     string
		p        Predictor
		from, to string
		want     string
	}{
		{"nothing", mean, string(saved(t, mean)), "", "unexpected EOF"},
		{"an earlier version", mean, "{", "clustergym predictor 1\n", "it is of version 1, want 2: fit it again"},
		{"a later version", mean, `"version":2`, `"version":3`, "line 1: version: 3, want"},
		{"cut off", mean, "}}\n", "", "unexpected EOF"},
		{"another kind", mean, "group-mean", "group-mode", `kind: "group-mode", want granted or group-mean`},
		{"a ring past its end", mean, `"latest":[33]`, `"latest":[33],"next":1`, "history.alike[0]: 1 numbers from the 1-th on"},
		{"a ring that is not full", mean, `"latest":[33]`, `"latest":[33,34],"next":1`, "history.alike[0]: 2 numbers from the 1-th on"},
		{"no numbers", mean, `"latest":[33]`, `"latest":[]`, "history.alike[0]: 0 numbers from the 0-th on, want 1 to 256"},
		{"no key", mean, `"group":"g"`, ``, "history.alike[0]: no key"},
		{"more than its end", mean, "}}\n", "}}{}", "more text after the end"},
		{"no iterations", mean, "[33]", "[0]", "history.alike[0]: 0, want a number from 1 to"},
		{"too much noise", mean, `"kind"`, `"noise":11,"kind"`, "noise: 11, want a number from 0 to 10"},
		{"no forest", mean, "group-mean", "forest", "forest: want one for the kind forest alone"},
		{"a set twice", grown, `"levels":[`, `"levels":[{"of":{"level":7},"latest":[1],"jobs":1},`, "forest.levels["},
		{"fewer jobs than numbers", grown, `"jobs":`, `"jobs":0,"next":0,"x":`, "x: unknown field"},
		{"bad settings", grown, `"first":5`, `"first":1`, "first 1, want 2 to"},
		{"fewer rows", grown, `"rows":[`, `"rows":[0,`, "forest: rows of"},
		{"fewer observations", grown, `"observations":`, `"observations":1,"since":`, "since: unknown field"},
		{"another forest", grown, `"grown":{"features":56`, `"grown":{"features":57`, "forest.grown: 57 features, want 56"},
		{"a tree without leaves", grown, `"trees":[`, `"trees":[{"features":[0],"values":[0]},`, "forest.grown: tree 0: it ends before"},
	} {
		good := string(saved(t, c.p))
		bad := strings.Replace(good, c.from, c.to, 1)
		if bad == good {
			t.Fatalf("%s: nothing to edit: %q in\n%s", c.name, c.from, good)
		}
		_, err := load(strings.NewReader(bad))
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// FuzzLoad checks that load either rejects a file or returns a predictor that predicts, learns and can be saved again.
func FuzzLoad(f *testing.F) {
	jobs := recurrent(f, 30)
	var seeds []string
	for _, p := range all() {
		seeds = append(seeds, string(saved(f, p)))
		answers(f, jobs, p, 1)
		seeds = append(seeds, string(saved(f, p)))
	}
	formattest.Fuzz(f, formattest.Format[Predictor]{
		Bytes: true,
		Read:  func(text []byte) (Predictor, error) { return load(bytes.NewReader(text)) },
		Write: func(p Predictor) ([]byte, error) {
			var b bytes.Buffer
			err := Save(&b, p)
			return b.Bytes(), err
		},
		Check: func(t *testing.T, read Predictor) {
			p := loaded(t, saved(t, read)) // the one read goes on to be written
			for i := range jobs {
				spec := jobs[i].JobSpec
				spec.Name = fmt.Sprint("new ", i)
				if x, _ := p.Predict(&spec); !(x >= 1 && x <= mostIterations) {
					t.Fatalf("%v iterations", x)
				}
				p.Observe(&spec, trueIterations(&jobs[i]))
			}
			loaded(t, saved(t, p))
		},
	}, seeds...)
}
