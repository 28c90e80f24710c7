package predict

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
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

// sealed returns a file with the given body.
func sealed(body []byte) []byte {
	b := append([]byte(magic), body...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func bodyOf(file []byte) []byte { return file[len(magic) : len(file)-sha256.Size] }

type foreign struct{ Predictor }

func TestFileMistakes(t *testing.T) {
	if err := Save(&bytes.Buffer{}, foreign{newGranted()}); err == nil || !strings.Contains(err.Error(), "foreign") {
		t.Errorf("a predictor of another package: %v", err)
	}
	if err := Save(&bytes.Buffer{}, newNoisy(newNoisy(newGranted(), 1), 1)); err == nil {
		t.Error("noise twice is saved")
	}
	p := newGroupMean()
	p.Observe(&cluster.JobSpec{Group: "g", Workers: 1}, 33)
	good := saved(t, p)
	flipped := slices.Clone(good)
	flipped[len(magic)+30] ^= 1
	edit := func(old, new string) []byte {
		b := bytes.Replace(bodyOf(good), []byte(old), []byte(new), 1)
		if bytes.Equal(b, bodyOf(good)) {
			t.Fatalf("nothing to edit: %q", old)
		}
		return sealed(b)
	}
	number := func(x float64) string {
		var c codec
		c.float("", &x, 0, 0)
		return string(c.b)
	}
	with := func(x float64) []byte { return edit(number(33), number(x)) }
	var ring codec // a ring that is full and whose oldest element is past its end
	kind, one := kindMean, 1.0
	ring.text("", &kind)
	for _, n := range []int{0, 0, typicalOf, typicalOf} {
		ring.size("", n, 0)
	}
	for range typicalOf {
		ring.float("", &one, 0, 0)
	}
	var noise codec
	kind = kindNoisy
	noise.text("", &kind)
	noise.float("", &one, 0, 0)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, `begins with ""`},
		{"another version", []byte("clustergym predictor 2\n" + strings.Repeat("x", 99)), `want "clustergym predictor 1\n"`},
		{"cut off early", []byte(magic), "cut off after 23 bytes"},
		{"cut off", good[:len(good)-5], "checksum is wrong"},
		{"a bit flipped", flipped, "checksum is wrong"},
		{"another kind", edit("group-mean", "group-mode"), `kind "group-mode", want one of granted`},
		{"a ring past its end", sealed(ring.b), "4096 seconds from the 4096-th on"},
		{"noise twice", sealed(append(slices.Clone(noise.b), noise.b...)), "noise only once"},
		{"more than its end", sealed(append(bodyOf(good), 0)), "1 bytes after its end"},
		{"less than its end", sealed(bodyOf(good)[:50]), "it ends too early"},
		{"no iterations", with(0), "iterations 0, want 1 to"},
		{"iterations that are no number", with(math.NaN()), "iterations NaN"},
	} {
		_, err := load(bytes.NewReader(c.file))
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// FuzzLoad checks that load either rejects a file or returns a predictor that predicts, learns and can be saved again.
func FuzzLoad(f *testing.F) {
	jobs := recurrent(f, 30)
	for _, p := range all() {
		f.Add(bodyOf(saved(f, p)))
		answers(f, jobs, p, 1)
		f.Add(bodyOf(saved(f, p)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := load(bytes.NewReader(sealed(b)))
		if err != nil {
			return
		}
		if !bytes.Equal(saved(t, p), sealed(b)) {
			t.Fatal("saved again it is another file")
		}
		for i := range jobs {
			spec := jobs[i].JobSpec
			spec.Name = fmt.Sprint("new ", i)
			if x, _ := p.Predict(&spec); !(x >= 1 && x <= mostIterations) {
				t.Fatalf("%v iterations", x)
			}
			p.Observe(&spec, trueIterations(&jobs[i]))
		}
		loaded(t, saved(t, p))
	})
}
