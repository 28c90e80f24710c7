package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/scenario/scenariotest"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/bench"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
	"github.com/clustergym/clustergym/policy"
)

var update = flag.Bool("update", false, "write what the reference does into testdata")

func TestMain(m *testing.M) {
	os.Exit(m.Run())
}

func load(name string) (*policy.Policy, error) {
	return (&policy.Finder{Table: all.Table(), Fits: true}).Load(name)
}

// Tasks that need no data: one that tells all, and one that tells nothing.
const (
	told   = "small-first@embedded-small-v1"
	untold = "small-first@turns-small-untold-v1"
)

var program = bench.Program{Version: "1", Build: "b", Revision: "r", Go: "go"}

func entry(name string) bench.Entry { return bench.Entry{Name: name, Told: name, Untold: name} }

// open opens the tasks with the given names.
func open(t testing.TB, names ...string) (all []*bench.Opened) {
	t.Helper()
	tasks := must.Get(bench.FindTasks(names))(t)
	for i := range tasks {
		o := must.Get(tasks[i].Open())(t)
		all = append(all, o)
	}
	return all
}

func play(t testing.TB, dir string, tasks []*bench.Opened, entries ...bench.Entry) *bench.File {
	t.Helper()
	f, err := bench.Play(context.Background(), tasks, entries, bench.Options{
		Dir: dir, Load: load, Program: program,
	})
	must.Do(t, err)
	return f
}

func text(t testing.TB, f *bench.File) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, f.Write(&b))
	return b.String()
}

// TestTasksAreFrozen plays the reference on the first windows of every task and compares digests of scenarios and costs
// with those of the first release. A change here makes all published results worthless: it needs another version of the
// suite.
func TestTasksAreFrozen(t *testing.T) {
	const path = "testdata/" + bench.Suite + ".json"
	golden := map[string]string{}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &golden)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	for _, task := range bench.Tasks() {
		if facts, err := task.Facts(); err != nil || facts.Files != "" {
			t.Setenv(scenario.SharedVariable, sharedtest.Dir(t)) // skips the test from the first task on a trace on
		}
		o := open(t, task.Name())[0]
		f := play(t, t.TempDir(), []*bench.Opened{o}, entry(bench.Reference))
		c := f.Rows[0].Cells[0]
		got := fmt.Sprintf("scenario %s, cost %v", c.Scenario, c.Cost)
		if *update {
			golden[o.Name()] = got
		} else if golden[o.Name()] != got {
			t.Errorf("%s:\n%s, want\n%s", o.Name(), got, golden[o.Name()])
		}
	}
	if *update {
		text, err := json.MarshalIndent(golden, "", " ")
		if err == nil {
			err = os.WriteFile(path, append(text, '\n'), 0o666)
		}
		must.Do(t, err)
	}
}

// TestTasksCoverTheField checks that tasks have several objectives, some without data, told and untold, with cheap, dear and
// forbidden restarts, and that those on traces say which file they need.
func TestTasksCoverTheField(t *testing.T) {
	count := map[string]int{}
	for _, task := range bench.Tasks() {
		f := must.Get(task.Facts())(t)
		count["told "+fmt.Sprint(f.Told)]++
		count["restart "+f.Restart]++
		count["data "+fmt.Sprint(f.Files != "")]++
		count[f.Objective]++
	}
	want := map[string]int{
		"told true": 6, "told false": 2, "restart 1m": 4, "restart 30m": 3, "restart forbidden": 1, "data true": 4, "data false": 4,
		"small-first": 3, "keep-work": 2, "gangs": 1, "fair": 2,
	}
	if fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", count, want)
	}
}

func TestMissingTraces(t *testing.T) {
	t.Setenv(scenario.SharedVariable, t.TempDir())
	for _, task := range bench.Tasks() {
		f, err := task.Facts()
		must.Do(t, err)
		_, err = task.Open()
		missing, ok := errors.AsType[*bench.MissingError](err)
		if ok != (f.Files != "") || ok && !strings.Contains(f.Files, missing.File) {
			t.Errorf("%s: error %v, want one about %q", task.Name(), err, f.Files)
		}
	}
}

// TestStandardPoliciesExist checks that every standard policy can be found, and plays a task that tells nothing without being
// told the truth, but for the one that says so.
func TestStandardPoliciesExist(t *testing.T) {
	for _, prior := range []string{"srsf+menu+move", "srsf+menu+move+know:speed=fit"} {
		names := map[string]bool{}
		for _, e := range bench.Standard(prior) {
			if names[e.Name] {
				t.Errorf("two standard policies are named %q", e.Name)
			}
			names[e.Name] = true
			for _, name := range []string{e.Told, e.Untold} {
				p, err := load(name)
				if err != nil {
					t.Errorf("%s: %v", e.Name, err)
				} else if told := p.Needs.Truth.Times || p.Needs.Truth.Speeds; told && e.Name != "told the truth" {
					t.Errorf("%s: %s is told the truth", e.Name, name)
				}
			}
		}
		if _, ok := bench.FindStandard(bench.Standard(prior), bench.Reference); !ok {
			t.Errorf("no standard policy is the reference %s", bench.Reference)
		}
	}
}

// TestPlayGoesOn interrupts a benchmark after some cases, and checks that the next one plays only the others and returns what one
// without an interrupt returns, also after other policies were asked for in between.
func TestPlayGoesOn(t *testing.T) {
	tasks := open(t, told, untold)
	entries := []bench.Entry{entry(bench.Reference), {Name: "mine", Told: "srsf", Untold: "srsf+know"}}
	want := text(t, play(t, t.TempDir(), tasks, entries...))

	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	opts := bench.Options{Dir: dir, Load: load, Workers: 1, Program: program}
	opts.Progress = func(p bench.Progress) {
		if p.Done >= 60 {
			cancel()
		}
	}
	if f, err := bench.Play(ctx, tasks, entries, opts); f != nil || !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v, error %v", f, err)
	}
	play(t, dir, tasks, entry(bench.Reference), entry("fjf"))
	var last bench.Progress
	opts.Progress = func(p bench.Progress) { last = p }
	f := must.Get(bench.Play(context.Background(), tasks, entries, opts))(t)
	if last.Done != 104 || last.Of != 104 || last.Kept < 60 {
		t.Errorf("%+v, want 104 cases, 60 or more of them kept", last)
	}
	if got := text(t, f); got != want {
		t.Errorf("after an interrupt:\n%s, want\n%s", got, want)
	}
	row := f.Rows[slices.IndexFunc(f.Rows, func(r bench.Row) bool { return r.Policy == "mine" })]
	if row.Cells[0].Played != "srsf" || row.Cells[1].Played != "srsf+know" {
		t.Errorf("%+v, want srsf where all is told, srsf+know where nothing is", row.Cells)
	}
}

// TestPlaySaysWhatWasTold checks what a file says of policies that are told more than the task tells.
func TestPlaySaysWhatWasTold(t *testing.T) {
	f := play(t, t.TempDir(), open(t, untold), entry(bench.Reference),
		entry("srsf+know:speed=truth:time=truth"), entry("srsf+know:seen=training"), entry("released+know:speed=fit:seen=training"))
	for _, row := range f.Rows {
		told := row.Cells[0].Told
		switch {
		case told.RunTimes != "none" || told.Speeds != "nothing" || told.Models != "nothing" || told.Groups != "trace",
			(len(told.Truth) == 2) != strings.Contains(row.Policy, "truth"),
			told.Training != strings.Contains(row.Policy, "training"),
			(len(told.Trained) > 0) != strings.Contains(row.Policy, "released"),
			(row.Cells[0].Weights != "") != strings.Contains(row.Policy, "released"):
			t.Errorf("%s: told %+v, weights %q", row.Policy, told, row.Cells[0].Weights)
		}
	}
	r := must.Get(bench.Rank(f, taskOf(t, untold)))(t)
	for _, s := range r.Rows {
		if (s.Rank == 0) != strings.Contains(s.Policy, "truth") {
			t.Errorf("%s has rank %d", s.Policy, s.Rank)
		}
	}
}

func taskOf(t testing.TB, names ...string) []bench.Task {
	t.Helper()
	tasks := must.Get(bench.FindTasks(names))(t)
	return tasks
}

// TestPlayRefusesTheTrained checks that a policy that was trained on the jobs of a task is refused.
func TestPlayRefusesTheTrained(t *testing.T) {
	tasks := open(t, told)
	src := scenariotest.Open(t, "embedded-small-v1", "workload.jobs=20000")
	seen := func(name string) (*policy.Policy, error) {
		p, err := load(name)
		if err == nil && name == "released" {
			for _, period := range src.Periods(scenario.Test) {
				p.Training.Seen = append(slices.Clip(p.Training.Seen), checkpoints.Period(period))
			}
		}
		return p, err
	}
	f, err := bench.Play(context.Background(), tasks, []bench.Entry{entry(bench.Reference), entry("released")},
		bench.Options{Dir: t.TempDir(), Load: seen, Progress: func(bench.Progress) { t.Error("something is played") }})
	if _, ok := errors.AsType[*eval.OverlapError](err); !ok || f != nil {
		t.Errorf("%v, error %v, want an OverlapError", f, err)
	}
}

// TestPlayRefusesWhoNeedsEstimates checks that policies which need estimates are refused where tasks tell none, all in one error and
// before anything is played.
func TestPlayRefusesWhoNeedsEstimates(t *testing.T) {
	tasks := open(t, told, untold)
	entries := []bench.Entry{entry(bench.Reference), entry("srsf"), {Name: "mine", Told: "srsf+menu", Untold: "srsf+menu+know"}, entry("sjf")}
	_, err := bench.Play(context.Background(), tasks, entries,
		bench.Options{Dir: t.TempDir(), Load: load, Progress: func(bench.Progress) { t.Error("something is played") }})
	e, ok := errors.AsType[*eval.EstimatesError](err)
	if !ok || !slices.Equal(e.Policies, []string{"srsf", "sjf"}) ||
		!slices.Equal(e.Scenarios, []string{"turns-small-untold-v1"}) ||
		!slices.Equal(e.Instead, []string{"srsf+know", "sjf+know"}) {
		t.Errorf("error %v", err)
	}
}

// TestPlayLeavesOutTheFailed checks that a policy that cannot play a task has no row there, and that the others have theirs.
func TestPlayLeavesOutTheFailed(t *testing.T) {
	breaks := func(name string) (*policy.Policy, error) {
		if name != "breaks" {
			return load(name)
		}
		p, err := load("las")
		if err == nil {
			p.New = func() (cluster.Scheduler, error) { return nil, errors.New("broken") }
		}
		return p, err
	}
	f, err := bench.Play(context.Background(), open(t, told, untold),
		[]bench.Entry{entry(bench.Reference), {Name: "srsf", Told: "srsf", Untold: "breaks"}}, bench.Options{Dir: t.TempDir(), Load: breaks})
	if _, ok := errors.AsType[*eval.FailedError](err); !ok || !strings.Contains(err.Error(), "policy srsf: 12 of 12 cases failed") {
		t.Fatalf("error %v, want one about srsf, which breaks", err)
	}
	r := must.Get(bench.Rank(f, taskOf(t, told, untold)))(t)
	if len(r.Rows) != 2 || r.Rows[0].Policy != bench.Reference || r.Rows[1].Rank != 0 ||
		r.Rows[1].Unranked != "played 1 of 2 tasks" {
		t.Errorf("%+v, want the reference ranked and srsf not", r.Rows)
	}
}
