package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/tbevent"
	"github.com/clustergym/clustergym/train/recipe"
)

// tiny returns the settings of a run that takes about a second: two scenarios with four and two servers, windows of forty jobs,
// two baselines to choose the prior from, a network of a few hundred weights, batches of two chunks, three updates from labels
// and three by PPO. sets override settings of the first scenario.
func tiny(tb testing.TB, sets ...string) (Config, Options) {
	tb.Helper()
	load := func(sets ...string) *scenario.Scenario {
		s := must.Get(scenario.Load("embedded-small-v1", sets...))(tb)
		return s
	}
	first := load(append([]string{
		"cluster.servers=4", "cluster.gpus_per_server=4", "workload.jobs=600", "window.arrivals=40",
	}, sets...)...)
	second := load("name=other-v1", "cluster.servers=2", "cluster.gpus_per_server=8", "workload.jobs=600", "workload.seed=7",
		"window.arrivals=40")
	cfg := DefaultConfig()
	cfg.Table = all.Table()
	cfg.Updates, cfg.Expert, cfg.Every, cfg.Window, cfg.Prior, cfg.Validation = 6, 3, 2, 6, "fifo,sjfskip", 2
	cfg.Size = agents.Size{Width: 8, Heads: 2, Hidden: 4, Rank: 2, Kappa: 2, Inducing: 2}
	cfg.Windows, cfg.Rollouts, cfg.Choices, cfg.Epochs, cfg.Batch, cfg.Rate, cfg.Label = 2, 1, 150, 2, 100, 0.02, 0.5
	return cfg, Options{Dir: filepath.Join(tb.TempDir(), "run"), Scenarios: []*scenario.Scenario{first, second}, Workers: 1}
}

func mustRun(tb testing.TB, cfg Config, opt Options) *agents.Policy {
	tb.Helper()
	p, stopped, err := Run(tb.Context(), cfg, opt)
	if err != nil || stopped {
		tb.Fatalf("run: stopped %v, error %v", stopped, err)
	}
	return p
}

// results reads the files that are equal for equal runs: the recipe, the metrics and the files of every checkpoint.
func results(tb testing.TB, dir string) map[string][]byte {
	tb.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == timingName || strings.HasPrefix(d.Name(), tbevent.Prefix) {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		out[name], err = os.ReadFile(path)
		return err
	})
	must.Do(tb, err)
	return out
}

// same compares the recipe, the metrics and the last checkpoint of two runs, and the earlier checkpoints that both have. A run
// that was stopped may have kept other checkpoints.
func same(tb testing.TB, got, want string) {
	tb.Helper()
	g, w := results(tb, got), results(tb, want)
	last := filepath.Join(storeName, "step-000006")
	for _, name := range []string{
		recipe.Name, metricsName, filepath.Join(last, "meta.json"), filepath.Join(last, "tensors.safetensors"),
		filepath.Join(last, "manifest.json"),
	} {
		if _, ok := g[name]; !ok {
			tb.Errorf("%s is missing", name)
		}
	}
	for name, text := range w {
		if other, ok := g[name]; ok && !bytes.Equal(other, text) {
			tb.Errorf("%s differs from the undisturbed run's:\n%.2000s\nwant\n%.2000s", name, printable(other), printable(text))
		}
	}
	if lines := bytes.Count(g[metricsName], []byte("\n")); lines != 6 {
		tb.Errorf("%d lines of metrics, want 6", lines)
	}
}

func printable(b []byte) string {
	if bytes.IndexByte(b, 0) >= 0 {
		return fmt.Sprintf("(%d bytes of tensors)", len(b))
	}
	return string(b)
}

func sameWeights(tb testing.TB, got, want *agents.Policy) {
	tb.Helper()
	for i := range want.Params {
		if !slices.Equal(got.Params[i].Data, want.Params[i].Data) {
			tb.Errorf("weights %s differ", want.Params[i].Name)
		}
	}
}

// TestWorkersDoNotMatter checks that the number of workers changes neither weights nor metrics, and that the run learns
// something.
func TestWorkersDoNotMatter(t *testing.T) {
	cfg, opt := tiny(t)
	first := mustRun(t, cfg, opt)
	for _, workers := range []int{2, 5} {
		other := opt
		other.Dir, other.Workers = t.TempDir(), workers
		sameWeights(t, mustRun(t, cfg, other), first)
		same(t, other.Dir, opt.Dir)
	}
	store := must.Get(checkpoints.OpenStore(filepath.Join(opt.Dir, storeName), checkpoints.StoreOptions{}))(t)
	early := must.Get(store.Load(2))(t)
	late := must.Get(store.Load(6))(t)
	n := first.Params.Count()
	a, _ := checkpoints.Get[float32](early.Tensors, "adam.m", n)
	b, _ := checkpoints.Get[float32](late.Tensors, "adam.m", n)
	if slices.Equal(a, b) || !slices.ContainsFunc(b, func(x float32) bool { return x != 0 }) {
		t.Error("the moments did not move: the comparison says nothing")
	}
	if _, ok := results(t, opt.Dir)[filepath.Join(storeName, "step-000000", "meta.json")]; ok {
		t.Error("4 checkpoints, want the newest 3")
	}
}

// TestWorkersDoNotMatterToMenus checks the same with a menu and moves, whose prior has more state, and with the value learner.
func TestWorkersDoNotMatterToMenus(t *testing.T) {
	cfg, opt := tiny(t, "physics=cpu-mem * sharing(1) * scaling")
	cfg.Prior, cfg.Updates, cfg.Expert, cfg.Learner, cfg.Windows = "srsf+menu+move", 2, 1, valueLearner, 4
	first := mustRun(t, cfg, opt)
	other := fresh(t, opt)
	other.Workers = 3
	sameWeights(t, mustRun(t, cfg, other), first)
	a, b := results(t, opt.Dir), results(t, other.Dir)
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

// TestStopAndResume checks that a run stopped after any update resumes to the same end, and that Progress gets the last earlier
// metrics again.
func TestStopAndResume(t *testing.T) {
	cfg, opt := tiny(t)
	want := mustRun(t, cfg, opt)
	for stopAt := range 6 {
		half := opt
		half.Dir = filepath.Join(t.TempDir(), "run")
		stop := make(chan struct{})
		half.Stop = stop
		half.Progress = func(m *Metrics) {
			if m.Update == stopAt {
				close(stop)
			}
		}
		if stopAt == 0 {
			close(stop)
		}
		if _, stopped, err := Run(t.Context(), cfg, half); err != nil || !stopped {
			t.Fatalf("stop after %d: stopped %v, error %v", stopAt, stopped, err)
		}
		if n := bytes.Count(results(t, half.Dir)[metricsName], []byte("\n")); n != stopAt {
			t.Fatalf("stop after %d: %d lines of metrics", stopAt, n)
		}
		var told []int
		half.Stop, half.Resume, half.Workers = nil, true, 2
		half.Progress = func(m *Metrics) { told = append(told, m.Update) }
		sameWeights(t, mustRun(t, cfg, half), want)
		same(t, half.Dir, opt.Dir)
		all := []int{1, 2, 3, 4, 5, 6}
		if !slices.Equal(told, all[max(stopAt-1, 0):]) {
			t.Errorf("stop after %d: told of updates %v, want %v", stopAt, told, all[max(stopAt-1, 0):])
		}
	}
	// Resuming a finished run must not change it.
	again := opt
	again.Resume = true
	before := results(t, opt.Dir)
	sameWeights(t, mustRun(t, cfg, again), want)
	if after := results(t, opt.Dir); len(after) != len(before) {
		t.Errorf("resuming a finished run left %d files, want %d", len(after), len(before))
	}
	same(t, again.Dir, opt.Dir)
}

// TestCancelAndResume checks that a run whose context ends during an update keeps the state of its last checkpoint.
func TestCancelAndResume(t *testing.T) {
	cfg, opt := tiny(t)
	mustRun(t, cfg, opt)
	half := opt
	half.Dir = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	half.Progress = func(m *Metrics) {
		if m.Update == 3 {
			cancel()
		}
	}
	if _, stopped, err := Run(ctx, cfg, half); err != nil || !stopped {
		t.Fatalf("cancelled: stopped %v, error %v", stopped, err)
	}
	half.Resume, half.Progress = true, nil
	mustRun(t, cfg, half)
	same(t, half.Dir, opt.Dir)
}

const childVariable = "TRAIN_TEST_CHILD"

// TestChild is the process that TestKillAndResume kills. It prints a line for each finished update.
func TestChild(t *testing.T) {
	dir := os.Getenv(childVariable)
	if dir == "" {
		return
	}
	cfg, opt := tiny(t)
	opt.Dir, opt.Workers = dir, 2
	_, err := os.Stat(filepath.Join(dir, recipe.Name))
	opt.Resume = err == nil
	opt.Clock = time.Now
	opt.Progress = func(m *Metrics) { fmt.Println("update", m.Update) }
	mustRun(t, cfg, opt)
}

// TestKillAndResume checks that a run that is killed again and again, at random times, comes to the same end.
func TestKillAndResume(t *testing.T) {
	cfg, opt := tiny(t)
	began := time.Now()
	mustRun(t, cfg, opt)
	whole := time.Since(began)
	dir := filepath.Join(t.TempDir(), "run")
	draw := rand.New(rand.NewPCG(uint64(began.UnixNano()), 1)) // other times in every run of the test; any times must work
	kills, begun := 0, 0
	for try := 0; ; try++ {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
		child.Env = append(os.Environ(), childVariable+"="+dir)
		var out bytes.Buffer
		child.Stdout, child.Stderr = &out, &out
		must.Do(t, child.Start())
		delay := time.Duration(math.MaxInt64)
		if try < 10 {
			delay = time.Duration(draw.Float64() * float64(whole) * 0.6)
		}
		timer := time.AfterFunc(delay, func() { child.Process.Kill() })
		err := child.Wait()
		timer.Stop()
		var exit *exec.ExitError
		switch {
		case err == nil && kills == 0: // slower when it was timed than now
			whole /= 2
			remove(t, dir)
		case err == nil:
			t.Logf("%d kills, %d of them before the first checkpoint", kills, begun)
			same(t, dir, opt.Dir)
			watched(t, dir)
			return
		case errors.As(err, &exit) && exit.ExitCode() == -1:
			kills++
			if steps, _ := filepath.Glob(filepath.Join(dir, storeName, "step-*")); len(steps) == 0 {
				begun++
			}
		default:
			t.Fatalf("child, after %d kills: %v\n%s", kills, err, &out)
		}
	}
}

// TestLeftovers checks resuming from the state that a kill leaves at critical times, made by hand.
func TestLeftovers(t *testing.T) {
	cfg, opt := tiny(t)
	mustRun(t, cfg, opt)
	for _, c := range []struct {
		name string
		harm func(t *testing.T, dir string)
		bad  []int // checkpoints that must be skipped
	}{
		{"killed before the first checkpoint", func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, storeName))
			remove(t, filepath.Join(dir, metricsName))
		}, nil},
		{"killed with an empty store", func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, storeName))
			remove(t, filepath.Join(dir, metricsName))
			must.Do(t, os.Mkdir(filepath.Join(dir, storeName), 0o777))
		}, nil},
		{"half a line of metrics after the checkpoint", func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, storeName, "step-000006"))
			edit(t, filepath.Join(dir, metricsName), func(b []byte) []byte { return b[:len(b)-20] })
		}, nil},
		{"a half-written checkpoint", func(t *testing.T, dir string) {
			old := filepath.Join(dir, storeName, "step-000006")
			must.Do(t, os.Rename(old, filepath.Join(dir, storeName, ".step-000006.tmp-0123456789abcdef")))
		}, nil},
		{"the newest checkpoint lost a byte", func(t *testing.T, dir string) {
			path := filepath.Join(dir, storeName, "step-000006", "tensors.safetensors")
			edit(t, path, func(b []byte) []byte { return b[:len(b)-1] })
		}, []int{6}},
		{"the newest two checkpoints have a wrong bit", func(t *testing.T, dir string) {
			for _, step := range []string{"step-000006", "step-000004"} {
				path := filepath.Join(dir, storeName, step, "tensors.safetensors")
				edit(t, path, func(b []byte) []byte { b[len(b)-5] ^= 4; return b })
			}
		}, []int{6, 4}},
		{"the newest checkpoint has no manifest", func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, storeName, "step-000006", "manifest.json"))
		}, []int{6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			again := opt
			again.Dir, again.Resume = filepath.Join(t.TempDir(), "run"), true
			must.Do(t, os.CopyFS(again.Dir, os.DirFS(opt.Dir)))
			c.harm(t, again.Dir)
			if c.bad != nil {
				if _, _, err := Run(t.Context(), cfg, again); !errors.As(err, new(*OlderError)) {
					t.Errorf("nobody allows an older checkpoint: error %v", err)
				}
				if _, _, err := Open(again.Dir, cfg.Table, nil); !errors.As(err, new(*OlderError)) {
					t.Errorf("opened: error %v", err)
				}
			}
			var bad []int
			again.Older = func(e *OlderError) error {
				for _, s := range e.Skipped {
					bad = append(bad, s.Step)
				}
				if !errors.Is(e, checkpoints.ErrDamaged) || !strings.Contains(e.Error(), fmt.Sprintf("the newest that can is %d:", e.Step)) {
					t.Errorf("told of %v", e)
				}
				return nil
			}
			mustRun(t, cfg, again)
			same(t, again.Dir, opt.Dir)
			if !slices.Equal(bad, c.bad) {
				t.Errorf("told of damaged checkpoints %v, want %v", bad, c.bad)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	must.Do(t, os.RemoveAll(path))
}

func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o666)
	}
	must.Do(t, err)
}

// fresh returns the options with a new folder.
func fresh(t *testing.T, opt Options) Options {
	opt.Dir = filepath.Join(t.TempDir(), "run")
	return opt
}

// stopAfter makes the run stop after an update.
func stopAfter(opt Options, update int) Options {
	stop := make(chan struct{})
	opt.Stop = stop
	opt.Progress = func(m *Metrics) {
		if m.Update == update {
			close(stop)
		}
	}
	return opt
}

// halted runs until after an update, and returns the options that resume the run.
func halted(t *testing.T, cfg Config, opt Options, update int) Options {
	t.Helper()
	if _, stopped, err := Run(t.Context(), cfg, stopAfter(opt, update)); err != nil || !stopped {
		t.Fatalf("stopped %v, error %v", stopped, err)
	}
	opt.Resume = true
	return opt
}

// TestRefusals checks that a run that cannot start or resume returns an error with the reason and changes nothing.
func TestRefusals(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Updates = 1
	mustRun(t, cfg, opt)
	resume := opt
	resume.Resume = true
	empty := resume
	empty.Dir = t.TempDir()
	absent := resume
	absent.Dir = filepath.Join(t.TempDir(), "absent")
	other, wider := cfg, cfg
	other.Rate, wider.Size.Hidden = 0.5, 5
	longer, labelled, prior, mute := cfg, cfg, cfg, cfg
	longer.Expert, labelled.Label, prior.Prior, mute.Learner = 2, 0.25, "fifo,sjfhold", policyLearner
	fewer, shifted, alone, swapped := resume, resume, resume, resume
	_, o := tiny(t, "cluster.servers=5")
	fewer.Scenarios = o.Scenarios
	_, o = tiny(t, "workload.seed=9")
	shifted.Scenarios = o.Scenarios
	alone.Scenarios = opt.Scenarios[:1]
	swapped.Scenarios = []*scenario.Scenario{opt.Scenarios[1], opt.Scenarios[0]}
	none := fresh(t, opt)
	none.Scenarios = nil
	badPrior := cfg
	badPrior.Prior = "no-such"
	for _, c := range []struct {
		name  string
		cfg   Config
		opt   Options
		is    error
		wants []string
	}{
		{"a new run where one is", cfg, opt, nil, []string{"holds a run already", opt.Dir}},
		{"another rate", other, resume, recipe.ErrMismatch, []string{"line ", `"  rate: 0.02"`, `"  rate: 0.5"`}},
		{"another size", wider, resume, recipe.ErrMismatch, []string{`"    hidden: 4"`, `"    hidden: 5"`}},
		{"fewer updates from labels", longer, resume, recipe.ErrMismatch, []string{`"  expert: 3"`, `"  expert: 2"`}},
		{"fewer labels", labelled, resume, recipe.ErrMismatch, []string{`"  label: 0.5"`, `"  label: 0.25"`}},
		{"another learner", mute, resume, recipe.ErrMismatch, []string{`"  learner: value"`, `"  learner: policy"`}},
		{"another prior", prior, resume, recipe.ErrMismatch, []string{`"  prior: fifo,sjfskip"`, `"  prior: fifo,sjfhold"`, `"prior: sjfskip"`}},
		{"one scenario of two", cfg, alone, recipe.ErrMismatch, []string{`"  - scenario: other-v1"`}},
		{"the scenarios in another order", cfg, swapped, recipe.ErrMismatch, []string{`asked for "  - scenario: other-v1"`}},
		{"no scenario", cfg, none, nil, []string{"no scenario, want 1 or more"}},
		{"a prior that is none", badPrior, fresh(t, opt), nil, []string{`train.prior: policy "no-such"`}},
		{"another cluster", cfg, fewer, recipe.ErrMismatch, []string{`"  servers: 4"`, `"  servers: 5"`}},
		{"another workload", cfg, shifted, recipe.ErrMismatch, []string{"sha256: ", `"  seed: 1"`, `"  seed: 9"`}},
		{"nothing in the folder", cfg, empty, checkpoints.ErrNone, []string{"resume " + empty.Dir}},
		{"no folder", cfg, absent, checkpoints.ErrNone, []string{"resume " + absent.Dir}},
	} {
		before := results(t, opt.Dir)
		p, stopped, err := Run(t.Context(), c.cfg, c.opt)
		if err == nil || p != nil || stopped || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: policy %v, stopped %v, error %v, want %v", c.name, p != nil, stopped, err, c.is)
			continue
		}
		for _, want := range c.wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want it to tell %q", c.name, err, want)
			}
		}
		if errors.Is(c.is, recipe.ErrMismatch) && strings.Contains(err.Error(), "updates:") {
			t.Errorf("%s: error %v lists a line that agrees", c.name, err)
		}
		after := results(t, opt.Dir)
		for name, text := range before {
			if !bytes.Equal(after[name], text) || len(after) != len(before) {
				t.Errorf("%s: changed the run (%s)", c.name, name)
			}
		}
	}
	if _, err := os.Stat(absent.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("resuming nothing made a folder: %v", err)
	}
	for _, step := range []string{"step-000000", "step-000001"} {
		edit(t, filepath.Join(opt.Dir, storeName, step, "meta.json"), func(b []byte) []byte { return b[1:] })
	}
	if _, _, err := Run(t.Context(), cfg, resume); !errors.Is(err, checkpoints.ErrNone) {
		t.Errorf("every checkpoint damaged: error %v, want %v", err, checkpoints.ErrNone)
	} else if n := strings.Count(err.Error(), "meta.json"); n != 2 {
		t.Errorf("every checkpoint damaged: error %v, want it to say why of both", err)
	}
}

// TestOpenIsWhatRunReturned checks that Open returns the policy that Run returned, without the scenario.
func TestOpenIsWhatRunReturned(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Updates, cfg.Margin = 2, 0.5
	want := mustRun(t, cfg, opt)
	got, training, err := Open(opt.Dir, cfg.Table, nil)
	must.Do(t, err)
	sameWeights(t, got, want)
	if got.Prior != "sjfskip" || got.Digest() != want.Digest() || got.Window != 6 || got.Margin != want.Margin ||
		!slices.Contains([]float64{0.5, 1, 2}, got.Margin) || got.Shape != want.Shape {
		t.Errorf("opened %s over %s, margin %v, want %s over %s, margin %v", got.Digest(), got.Prior, got.Margin, want.Digest(),
			want.Prior, want.Margin)
	}
	if training.Scenario != "embedded-small-v1,other-v1" || training.Seed != 1 || training.Updates != 2 ||
		training.Trace != scenario.Embedded {
		t.Errorf("provenance %+v", training)
	}
	if _, _, err := Open(t.TempDir(), cfg.Table, nil); !errors.Is(err, checkpoints.ErrNone) {
		t.Errorf("an empty folder: error %v, want %v", err, checkpoints.ErrNone)
	}
}
