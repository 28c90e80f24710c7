package bench_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/eval/bench"
	"github.com/clustergym/clustergym/internal/formattest"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
)

// sample returns a file with two policies beside the reference, as Write writes it.
func sample(t testing.TB) string {
	r := rng.Stream(2, "sample")
	f := drawn(r, bench.Tasks()[:2], 2, func(int, bench.Task, int) float64 { return r.NormFloat64() })
	for i := range f.Rows {
		f.Rows[i].Program = bench.Program{Version: "v1", Revision: "0123", Build: "4567", Go: "go1.26"}
		for k := range f.Rows[i].Cells {
			f.Rows[i].Cells[k].Told.Trained = []string{"venus, days 1 to 2"}
		}
	}
	return text(t, f)
}

func read(s string) (*bench.File, error) { return bench.Read(strings.NewReader(s)) }

func TestFilesAreReadAsWritten(t *testing.T) {
	want := sample(t)
	f := must.Get(read(want))(t)
	if got := text(t, f); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n := strings.Count(want, "\n"); n != 1+3*3 {
		t.Errorf("%d lines, want one for the head, and three for each of three policies", n)
	}
}

func TestReadRefuses(t *testing.T) {
	whole := sample(t)
	for _, c := range []struct{ old, with, want string }{
		{`"format":"clustergym bench"`, `"format":"x"`, `format: "x"`},
		{`"version":2,`, `"version":1,`, "version: 1, want"},
		{`"suite":"bench-v2"`, `"suite":"bench-v1"`, `suite: "bench-v1", want`},
		{`"suite":"bench-v2",`, `"suite":"bench-v2","more":1,`, "more"},
		{`"suite":"bench-v2",`, ``, "suite: missing"},
		{`"task":"small-first@embedded-small-v1"`, `"task":"embedded-small-v2"`, `line 3: rows[0].tasks[0].task: "embedded-small-v2", want`},
		{`"task":"keep-work@turns-small-v1"`, `"task":"small-first@embedded-small-v1"`, "want a task that the row does not have yet"},
		{`"policy":"policy 1"`, `"policy":"policy 0"`, "want a policy that has no other row"},
		{`"policy":"policy 0"`, `"policy":"policy \u001b[2J"`, "without control characters"},
		{`"policy":"policy 0"`, `"policy":""`, "not empty"},
		{`"policy":"` + bench.Reference + `"`, `"policy":"fifo"`, "no row of the reference"},
		{`"scenario_sha256":"d"`, `"scenario_sha256":"e"`, "they played other jobs"},
		{`"cost":[`, `"cost":[1,`, "want a list of at most 40"},
		{`"cost":[`, `"cost":[-1,`, "cost[0]: -1, want"},
		{`"cost":[`, `"cost":[1e300,`, "1e300, want"},
		{`"truncated":0`, `"truncated":41`, "41 truncated"},
		{`"training_split":false`, `"training_split":0`, "training_split: 0, want"},
	} {
		changed := strings.Replace(whole, c.old, c.with, 1)
		if changed == whole {
			t.Fatalf("the file has no %s", c.old)
		}
		if _, err := read(changed); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.with, err, c.want)
		}
	}
	if _, err := read(whole + "x"); err == nil {
		t.Error("text behind the end is accepted")
	}
}

// FuzzRead also checks that what is read can be ranked.
func FuzzRead(f *testing.F) {
	formattest.Fuzz(f, formattest.Format[*bench.File]{
		Read: func(text []byte) (*bench.File, error) { return bench.Read(bytes.NewReader(text)) },
		Write: func(file *bench.File) ([]byte, error) {
			var b bytes.Buffer
			err := file.Write(&b)
			return b.Bytes(), err
		},
		Check: func(t *testing.T, file *bench.File) {
			var played []bench.Task
			for _, task := range bench.Tasks() {
				if file.Played(task) {
					played = append(played, task)
				}
			}
			if _, err := bench.Rank(file, played); err != nil && len(played) > 0 {
				t.Error(err)
			}
		},
	}, sample(f), `{"format":"clustergym bench","version":2,"suite":"bench-v2","rows":[]}`, "{}", "")
}

// change returns the file after a replacement in its text.
func change(t *testing.T, s, old, with string) *bench.File {
	t.Helper()
	f := must.Get(read(strings.ReplaceAll(s, old, with)))(t)
	return f
}

func policies(f *bench.File) (all []string) {
	for _, r := range f.Rows {
		all = append(all, r.Policy)
	}
	return all
}

func TestJoin(t *testing.T) {
	whole := sample(t)
	same := change(t, whole, "", "")
	renamed := change(t, whole, "policy 0", "policy 2")
	other := change(t, whole, `"played":"p"`, `"played":"q"`)
	joined, err := bench.Join(bench.Named{Name: "a", File: same}, bench.Named{Name: "b", File: renamed},
		bench.Named{Name: "c", File: same})
	must.Do(t, err)
	if got := policies(joined); !slices.Equal(got, []string{bench.Reference, "policy 0", "policy 1", "policy 2"}) {
		t.Errorf("policies %q", got)
	}
	joined, err = bench.Join(bench.Named{Name: "a", File: same}, bench.Named{Name: "b.json", File: other})
	must.Do(t, err)
	want := []string{bench.Reference, "policy 0", "policy 0 (b.json)", "policy 1", "policy 1 (b.json)"}
	if got := policies(joined); !slices.Equal(got, want) {
		t.Errorf("policies %q, want %q", got, want)
	}
	elsewhere := change(t, whole, "", "")
	for i := range elsewhere.Rows {
		elsewhere.Rows[i].Cells[1].Cost[3] *= 1.001
	}
	_, err = bench.Join(bench.Named{Name: "a", File: same}, bench.Named{Name: "b.json", File: elsewhere})
	if err == nil || !strings.Contains(err.Error(), "b.json") || !strings.Contains(err.Error(), "keep-work@turns-small-v1") {
		t.Errorf("error %v, want one about the reference on keep-work@turns-small-v1 in b.json", err)
	}
}

// TestUpdate checks which rows of a folder stay when others are played.
func TestUpdate(t *testing.T) {
	whole := sample(t)
	old := change(t, whole, "", "")
	some := func(f *bench.File, task int, keep ...string) *bench.File {
		f.Rows = slices.DeleteFunc(f.Rows, func(r bench.Row) bool { return !slices.Contains(keep, r.Policy) })
		for i := range f.Rows {
			f.Rows[i].Cells = f.Rows[i].Cells[task : task+1]
		}
		return f
	}
	cells := func(f *bench.File, policy string) (tasks []string) {
		i := slices.Index(policies(f), policy)
		for _, c := range f.Rows[i].Cells {
			tasks = append(tasks, c.Task+" "+c.Played)
		}
		return tasks
	}
	check := func(f *bench.File, policy string, want ...string) {
		t.Helper()
		if got := cells(f, policy); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", policy, got, want)
		}
	}

	same := some(change(t, whole, `"played":"p"`, `"played":"q"`), 0, bench.Reference, "policy 0")
	got, dropped := bench.Update(old, same)
	check(got, "policy 0", "small-first@embedded-small-v1 q", "keep-work@turns-small-v1 p")
	check(got, "policy 1", "small-first@embedded-small-v1 p", "keep-work@turns-small-v1 p")
	check(got, bench.Reference, "small-first@embedded-small-v1 q", "keep-work@turns-small-v1 p")
	if len(dropped) > 0 {
		t.Errorf("%q are dropped", dropped)
	}

	built := some(change(t, whole, `"sha256":"4567"`, `"sha256":"9"`), 1, bench.Reference, "policy 0")
	got, _ = bench.Update(old, built)
	check(got, "policy 0", "keep-work@turns-small-v1 p")
	check(got, "policy 1", "small-first@embedded-small-v1 p", "keep-work@turns-small-v1 p")

	faster := some(change(t, whole, "", ""), 1, bench.Reference)
	faster.Rows[0].Cells[0].Cost[0] /= 2
	got, dropped = bench.Update(old, faster)
	check(got, "policy 0", "small-first@embedded-small-v1 p")
	check(got, "policy 1", "small-first@embedded-small-v1 p")
	if !slices.Equal(dropped, []string{"policy 0", "policy 1"}) {
		t.Errorf("%q are dropped, want both", dropped)
	}
}
