package sweep

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/train"
	"github.com/clustergym/clustergym/train/recipe"
	"github.com/google/go-cmp/cmp"
)

// tiny returns a sweep of four points and two seeds that takes about a second: four servers, windows of forty jobs, a network
// of a few hundred weights, and rungs at the updates 2, 4 and 6, of which the last three learn by PPO.
func tiny(tb testing.TB, dir string) (*Plan, Options) {
	tb.Helper()
	s, err := scenario.Load("embedded-small-v1",
		"cluster.servers=4", "cluster.gpus_per_server=4", "workload.jobs=600", "window.arrivals=40")
	if err != nil {
		tb.Fatal(err)
	}
	r := DefaultRequest()
	r.Scenario, r.Vary, r.Seeds, r.Halving = s.Name, []string{"train.rate=0.02,0.005", "train.size.graph=dynamic,none"}, 2, 2
	c := &r.Train
	c.Updates, c.Expert, c.Every, c.Window, c.Prior, c.Validation, c.Keep = 6, 3, 2, 6, "fifo", 2, 9
	c.Size = agents.Size{Width: 8, Heads: 2, Hidden: 4, Rank: 2, Kappa: 2, Inducing: 2}
	c.Windows, c.Rollouts, c.Choices, c.Epochs, c.Batch, c.Label, c.Learner = 2, 1, 60, 2, 50, 0.5, "policy"
	p, err := NewPlan(r)
	if err != nil {
		tb.Fatal(err)
	}
	return p, Options{Dir: dir, Scenarios: []*scenario.Scenario{s}}
}

// undisturbed returns the result of the tiny sweep, which the first caller runs. Nobody may change its folder.
func undisturbed(tb testing.TB) *Result {
	tb.Helper()
	once.Do(func() {
		p, opt := tiny(tb, filepath.Join(shared, "whole"))
		began := time.Now()
		whole = mustRun(tb, p, opt)
		took = time.Since(began)
	})
	if whole == nil {
		tb.Fatal("the undisturbed sweep failed")
	}
	return whole
}

var (
	once   sync.Once
	shared string // folder of this process
	whole  *Result
	took   time.Duration // to run whole
)

func TestMain(m *testing.M) {
	var err error
	if shared, err = os.MkdirTemp("", "sweep"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(shared)
	os.Exit(code)
}

func mustRun(tb testing.TB, p *Plan, opt Options) *Result {
	tb.Helper()
	r, err := p.Run(tb.Context(), opt)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// tree returns the content of every file in a folder.
func tree(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if strings.HasPrefix(d.Name(), ".") { // a lock or a temporary file, which a kill leaves behind
			return nil
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		out[name] = string(text)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// same compares the results of two sweeps, and their files. A run that was interrupted between two checkpoints has one more.
func same(tb testing.TB, got, want *Result) {
	tb.Helper()
	text := func(r *Result) string {
		var b bytes.Buffer
		if err := r.WriteCSV(&b); err != nil {
			tb.Fatal(err)
		}
		return r.Text() + b.String()
	}
	if diff := cmp.Diff(text(want), text(got)); diff != "" {
		tb.Errorf("the table (-want +got):\n%s", diff)
	}
	a, b := tree(tb, want.Dir), tree(tb, got.Dir)
	for name, content := range a {
		if other, ok := b[name]; !ok || other != content {
			tb.Errorf("%s differs, or is missing: %v", name, !ok)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok && !strings.Contains(name, "checkpoints") {
			tb.Errorf("%s is too much", name)
		}
	}
}

// TestSweep checks that the points differ, that halving stopped some of them, and that all share their labels.
func TestSweep(t *testing.T) {
	p, _ := tiny(t, "")
	r := undisturbed(t)
	var reached []int
	values := map[float64]bool{}
	for _, row := range r.Points {
		reached = append(reached, row.Updates)
		values[row.Validation] = true
		for _, dir := range row.Runs {
			if _, training, err := train.Open(dir, baselines.Table{}, nil); err != nil || training.Updates != row.Updates {
				t.Errorf("%s ended after update %d, want %d: %v", dir, training.Updates, row.Updates, err)
			}
		}
	}
	if !slices.Equal(reached, []int{6, 4, 2, 2}) || len(values) < 3 {
		t.Errorf("the comparison says little:\n%s", r.Text())
	}
	labels, err := filepath.Glob(filepath.Join(r.Dir, "labels", "*", "*"))
	if err != nil || len(labels) != p.Request.Train.Expert*p.Request.Train.Windows {
		t.Errorf("%d files of labels for 8 runs of 3 updates of 2 windows each, want 6: %v", len(labels), err)
	}
	if own, _ := filepath.Glob(filepath.Join(r.Dir, "runs", "*", "labels")); len(own) > 0 {
		t.Errorf("runs with labels of their own: %v", own)
	}
}

// TestRunsArePrefixes checks that a run of each point equals, up to the rung at which it ended, a run that trains to the end
// without a sweep, and that train continues it to the same end.
func TestRunsArePrefixes(t *testing.T) {
	p, opt := tiny(t, t.TempDir())
	r := undisturbed(t)
	ended := map[string]int{}
	for _, row := range r.Points {
		ended[row.Point] = row.Updates
	}
	for point, all := range newSweep(p, opt).runs {
		run, last := all[1], ended[p.Points[point].Name]
		dir := filepath.Join(opt.Dir, run.name)
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(r.Dir, runsName, run.name))); err != nil {
			t.Fatal(err)
		}
		own := train.Options{Dir: t.TempDir(), Scenarios: opt.Scenarios, Labels: filepath.Join(r.Dir, labelsName)}
		if _, stopped, err := train.Run(t.Context(), run.config, own); err != nil || stopped {
			t.Fatal(stopped, err)
		}
		whole := tree(t, own.Dir)
		for name, text := range tree(t, dir) {
			if name == "metrics.jsonl" {
				if !strings.HasPrefix(whole[name], text) || strings.Count(text, "\n") != last {
					t.Errorf("%s: metrics\n%sare not the first %d lines of\n%s", run.name, text, last, whole[name])
				}
			} else if whole[name] != text {
				t.Errorf("%s: %s is not that of the whole run", run.name, name)
			}
		}
		own.Dir, own.Resume = dir, true
		if _, stopped, err := train.Run(t.Context(), run.config, own); err != nil || stopped {
			t.Fatal(stopped, err)
		}
		if diff := cmp.Diff(whole, tree(t, dir)); diff != "" {
			t.Errorf("%s: continued, it differs from the whole run", run.name)
		}
	}
}

// TestStopAndResume checks that a sweep that is stopped several times, with other numbers of workers and of runs at a time,
// continues to the same result, and that a finished one stays as it is.
func TestStopAndResume(t *testing.T) {
	p, half := tiny(t, t.TempDir())
	want := undisturbed(t)
	for at := 1; ; at += 11 {
		stop := make(chan struct{})
		half.Stop, half.Parallel, half.Workers = stop, 1+at%3, 4
		half.Progress = func(p Progress) {
			if p.Done == at {
				close(stop)
			}
		}
		got, err := p.Run(t.Context(), half)
		if err == nil {
			same(t, got, want)
			calls := 0
			half.Progress = func(p Progress) {
				if calls++; p.Done != p.Total || p.Metrics != nil {
					t.Errorf("a finished sweep trains %s on, at %d of %d updates", p.Run, p.Done, p.Total)
				}
			}
			if same(t, mustRun(t, p, half), want); calls != 1 {
				t.Errorf("%d calls of Progress, want 1", calls)
			}
			return
		}
		if !errors.Is(err, ErrStopped) || at > 40 {
			t.Fatal(err)
		}
	}
}

const childVariable = "SWEEP_TEST_CHILD"

// TestChild is the process that TestKillAndResume kills.
func TestChild(t *testing.T) {
	dir := os.Getenv(childVariable)
	if dir == "" {
		return
	}
	p, opt := tiny(t, dir)
	opt.Parallel = 2
	mustRun(t, p, opt)
}

// TestKillAndResume checks that a sweep that is killed again and again comes to the same end.
func TestKillAndResume(t *testing.T) {
	p, opt := tiny(t, "")
	want := undisturbed(t)
	dir := filepath.Join(t.TempDir(), "sweep")
	kills, took := 0, took
	for try := range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), took/4+time.Duration(max(try-4, 0))*took/2)
		child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestChild$")
		child.Env = append(os.Environ(), childVariable+"="+dir)
		out, err := child.CombinedOutput()
		killed := ctx.Err() != nil
		cancel()
		switch {
		case err == nil && kills == 0: // slower when it was timed than now
			took /= 2
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			continue
		case err == nil:
			t.Logf("%d kills", kills)
			opt.Dir = dir
			same(t, mustRun(t, p, opt), want)
			return
		case !killed:
			t.Fatalf("child, after %d kills: %v\n%s", kills, err, out)
		}
		kills++
	}
	t.Fatal("the sweep does not end")
}

// TestAnotherRequestIsRefused checks that a folder with another sweep is refused, with the differences, and left as it is.
func TestAnotherRequestIsRefused(t *testing.T) {
	p, opt := tiny(t, t.TempDir())
	stop := make(chan struct{})
	close(stop)
	opt.Stop = stop
	if _, err := p.Run(t.Context(), opt); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	before := tree(t, opt.Dir)
	other := p.Request
	other.Seeds, other.Vary, other.Train.Rate = 3, append(slices.Clone(other.Vary), "train.label=0.1"), 0.5
	q, err := NewPlan(other)
	if err != nil {
		t.Fatal(err)
	}
	changed := *opt.Scenarios[0]
	changed.Horizon = time.Hour
	opt.Scenarios = []*scenario.Scenario{&changed}
	_, err = q.Run(t.Context(), opt)
	if !errors.Is(err, ErrMismatch) {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{
		`seeds: the folder has "2", asked for "3"`, `vary[2]: the folder has nothing, asked for "train.label=0.1"`,
		`train.rate: the folder has "0.002", asked for "0.5"`, `scenario 1.horizon: the folder has "0s", asked for "1h0m0s"`,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error lacks %q:\n%v", part, err)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n != 4 {
		t.Errorf("%d differences, want 4:\n%v", n, err)
	}
	if diff := cmp.Diff(before, tree(t, opt.Dir)); diff != "" {
		t.Errorf("the folder has changed:\n%s", diff)
	}
	r, scenarios, err := Read(opt.Dir)
	if err != nil || !reflect.DeepEqual(r, p.Request) || len(scenarios) != 1 || scenarios[0].Cluster.Servers != 4 {
		t.Errorf("read %+v, %v", r, err)
	}
}

// TestFailingRunIsNamed checks that a run that cannot train ends the sweep with its name, and that what was finished is kept.
func TestFailingRunIsNamed(t *testing.T) {
	p, opt := tiny(t, t.TempDir())
	first := newSweep(p, opt)
	bad := filepath.Join(opt.Dir, runsName, first.runs[0][1].name)
	if err := os.MkdirAll(bad, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bad, recipe.Name), []byte("train: [\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := p.Run(t.Context(), opt)
	if err == nil || !strings.Contains(err.Error(), "run "+first.runs[0][1].name+": ") || !strings.Contains(err.Error(), recipe.Name) {
		t.Fatalf("error %v", err)
	}
	if err := os.RemoveAll(bad); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no space")
	s := newSweep(p, opt)
	s.advance, s.read = func(ctx context.Context, r *run, until, workers int, note func(*train.Metrics)) error {
		if r == s.runs[0][1] {
			return broken
		}
		return s.train(ctx, r, until, workers, note)
	}, s.metrics
	if _, err := s.do(t.Context()); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	if all, err := train.ReadMetrics(s.dir(s.runs[0][0])); err != nil || len(all) != 2 {
		t.Errorf("%d updates of the run before are kept, want 2: %v", len(all), err)
	}
}

func TestNoValidationWindows(t *testing.T) {
	p, opt := tiny(t, t.TempDir())
	s := *opt.Scenarios[0]
	s.Window.Validation = nil
	opt.Scenarios = []*scenario.Scenario{&s}
	if _, err := p.Run(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "no validation windows") {
		t.Errorf("error %v", err)
	}
}
