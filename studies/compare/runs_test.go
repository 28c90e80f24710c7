package compare

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/train"
	"github.com/clustergym/clustergym/train/recipe"
)

var update = flag.Bool("update", false, "rewrite the tables in testdata")

// made describes the folder of a run.
type made struct {
	name     string
	change   func(*train.Recipe)
	measure  func(*train.Metrics) // completes the metrics of each update
	sets     []string             // of its scenario
	start    float64              // validation of the policy that it began with, 0 for none
	results  []float64
	timing   string
	leftover string // after the last line of metrics.jsonl
}

// write writes the folder of a run that validated after every update, and reads it.
func (m made) write(t *testing.T, root string) *Run {
	t.Helper()
	s, err := scenario.Load("embedded-small-v1", m.sets...)
	if err != nil {
		t.Fatal(err)
	}
	r := train.Recipe{Train: train.DefaultConfig(), Prior: "srsf+menu+move", Workloads: []recipe.Workload{{Scenario: s.Name, Digest: "abc"}}}
	r.Train.Updates, r.Train.Expert, r.Train.Every = 3, 3, 1
	if m.change != nil {
		m.change(&r)
	}
	text, err := recipe.Text(r, []*scenario.Scenario{s})
	if err != nil {
		t.Fatal(err)
	}
	var metrics strings.Builder
	for i, x := range m.results {
		line := train.Metrics{Update: i + 1, Choices: 100, Learned: 50, Validation: &x, Margin: float64(i + 1), Entropy: 0.5, Norm: 2}
		if i == 0 && m.start > 0 {
			line.Start, line.StartKept = &m.start, true
		}
		if m.name != "draws" {
			line.Agree = 0.75
		}
		if m.measure != nil {
			m.measure(&line)
		}
		b, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&metrics, "%s\n", b)
	}
	dir := filepath.Join(root, m.name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		recipe.Name: string(text), "metrics.jsonl": metrics.String() + m.leftover, timingName: m.timing,
	} {
		if name == timingName && text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	run.Dir = filepath.Join("runs", m.name) // the tables do not depend on the test's folder
	return run
}

// seeded returns a run whose seed alone differs from the others'.
func seeded(name string, seed uint64, results ...float64) made {
	return made{name: name, change: func(r *train.Recipe) { r.Train.Seed = seed }, results: results}
}

// tables contains runs of every kind.
func tables(t *testing.T) *Comparison {
	t.Helper()
	root := t.TempDir()
	slow := seeded("one", 1, 0.99, 0.95, 0.97)
	slow.timing = `{"update":1,"wall_s":100}
{"update":1,"wall_s":190}
{"update":2,"wall_s":1300}
{"update":3,"wall_s":1600.4,"resumed":true}
{"upd`
	var list []*Run
	for _, m := range []made{
		slow, seeded("two", 2, 1.02, 0.98, 0.96), seeded("three", 3, 0.97, 0.94, 0.93),
		{name: "hot", change: func(r *train.Recipe) { r.Train.Rate = 0.01 }, results: []float64{1.1, 1.2}, leftover: `{"update":3,"ch`},
		{name: "draws", change: func(r *train.Recipe) { r.Train.Expert, r.Train.Updates = 0, 2 }, results: []float64{0.99, 0.985}},
		{name: "mine", change: func(r *train.Recipe) {
			r.Train.Margin = 2
			r.From = &train.Beginning{Policy: "released", Digest: "0123456789abcdef", Margin: 1}
		}, sets: []string{"workload.seed=5"}, start: 0.9, results: []float64{0.92, 0.91, 0.905}},
		{name: "new"},
	} {
		list = append(list, m.write(t, root))
	}
	c, err := Runs(list, line)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func line(words ...string) string { return "clustergym " + strings.Join(words, " ") }

// TestTables compares the tables with those in testdata.
func TestTables(t *testing.T) {
	c := tables(t)
	for name, write := range map[string]func(b *strings.Builder) error{
		"runs.txt": func(b *strings.Builder) error { return c.WriteText(b) },
		"runs.md":  func(b *strings.Builder) error { return c.WriteMarkdown(b) },
		"runs.json": func(b *strings.Builder) error {
			e := json.NewEncoder(b)
			e.SetIndent("", "  ")
			return e.Encode(c)
		},
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), b.String()); d != "" {
			t.Errorf("%s (-want +got, -update rewrites it):\n%s", golden, d)
		}
	}
}

// TestMetricsByBaseline checks the columns of metrics that have a number for each baseline: those that all runs have.
func TestMetricsByBaseline(t *testing.T) {
	root := t.TempDir()
	var list []*Run
	for _, name := range []string{"one", "two"} {
		m := seeded(name, uint64(len(list)), 0.9)
		m.measure = func(m *train.Metrics) {
			m.Against, m.Best = map[string]float64{"las": 0.5, "fifo": 0.25, name: 1}, 1.5
			m.Proposed, m.Taken = map[string]int{"las": 9}, map[string]int{"las": 7}
		}
		list = append(list, m.write(t, root))
	}
	c, err := Runs(list, line)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"run", "choices", "learned", "against/fifo", "against/las", "relative_best", "proposed/las", "taken/las", "validation", "margin", "agree",
			"entropy", "kl", "clipped", "grad_norm"},
		{"one", "100", "50", "0.25", "0.5", "1.5", "9", "7", "0.9", "1", "0.75", "0.5", "0", "0", "2"},
		{"two", "100", "50", "0.25", "0.5", "1.5", "9", "7", "0.9", "1", "0.75", "0.5", "0", "0", "2"},
	}
	if d := cmp.Diff(want, c.lastRows()); d != "" {
		t.Errorf("the last update (-want +got):\n%s", d)
	}
}

// TestGroupsAreOfSeedsAlone checks the figures of the runs that differ in their seeds, and that no other runs are among them.
func TestGroupsAreOfSeedsAlone(t *testing.T) {
	c := tables(t)
	if len(c.Groups) != 1 || !slices.Equal(c.Groups[0].Runs, []string{"one", "two", "three"}) {
		t.Fatalf("groups %+v", c.Groups)
	}
	g := c.Groups[0]
	// Student's t with two degrees of freedom: 4.3027.
	mean := (0.95 + 0.96 + 0.93) / 3
	deviation := math.Sqrt((math.Pow(0.95-mean, 2) + math.Pow(0.96-mean, 2) + math.Pow(0.93-mean, 2)) / 2)
	half := 4.302652729911275 * deviation / math.Sqrt(3)
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if !near(g.Mean, mean) || g.Min != 0.93 || g.Max != 0.96 || !near(g.Interval[0], mean-half) || !near(g.Interval[1], mean+half) {
		t.Errorf("group %+v, interval %v, want %v ± %v", g, g.Interval, mean, half)
	}
	root := t.TempDir()
	two, err := Runs([]*Run{seeded("a", 1, 0.9).write(t, root), seeded("b", 2, 0.8).write(t, root)}, line)
	if err != nil {
		t.Fatal(err)
	}
	if len(two.Groups) != 1 || two.Groups[0].Interval != nil || two.Groups[0].Unfinished != 2 {
		t.Errorf("two unfinished runs: %+v", two.Groups)
	}
}

// TestRunsWithOneName checks that runs with the same name are told apart by their folders, and that no run is given twice.
func TestRunsWithOneName(t *testing.T) {
	root := t.TempDir()
	a, b := seeded("a/run", 1, 0.9).write(t, root), seeded("b/run", 2, 0.8).write(t, root)
	c, err := Runs([]*Run{a, b}, line)
	if err != nil {
		t.Fatal(err)
	}
	if c.Runs[0].Name != "runs/a/run" || !strings.Contains(c.Eval, "runs/b/run=runs/b/run") {
		t.Errorf("names %q, command %s", c.Runs[0].Name, c.Eval)
	}
	prior := seeded("prior", 1, 0.9).write(t, root)
	if c, err := Runs([]*Run{prior}, line); err != nil || !strings.Contains(c.Eval, "--policies prior,runs/prior=runs/prior --baseline prior") {
		t.Errorf("a run that has the baseline's name: %v, command %s", err, c.Eval)
	}
	again := *a
	again.Dir += "/"
	if _, err := Runs([]*Run{a, &again}, line); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("one run twice: error %v", err)
	}
}

// TestReadRefusals checks the errors about folders without a run and with a damaged one.
func TestReadRefusals(t *testing.T) {
	root := t.TempDir()
	if _, err := Read(root); !errors.Is(err, checkpoints.ErrNone) {
		t.Errorf("no run: error %v", err)
	}
	seeded("run", 1, 0.9).write(t, root)
	path := filepath.Join(root, "run", "metrics.jsonl")
	if err := os.WriteFile(path, []byte("{\"update\":2}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(filepath.Join(root, "run")); err == nil || !strings.Contains(err.Error(), path+":1: update 2, want 1") {
		t.Errorf("damaged metrics: error %v", err)
	}
}
