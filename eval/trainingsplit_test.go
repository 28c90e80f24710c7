package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/scenario/scenariotest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// found returns policies that may have to be fitted.
func found(t testing.TB, names ...string) []policy.Policy {
	t.Helper()
	var policies []policy.Policy
	for _, name := range names {
		p := must.Get((&policy.Finder{Table: all.Table(), Fits: true}).Load(name))(t)
		policies = append(policies, *p)
	}
	return policies
}

// both are the needs of policies that need a fitted predictor and what is learned from the past.
var both = baselines.Needs{Fitted: true, Learned: true}

// fittedBytes fits on the training split and returns the predictor, and what is learned from the past, as bytes.
func fittedBytes(t testing.TB, src *scenario.Source) []byte {
	t.Helper()
	given := must.Get(newPast(src).fit(t.Context(), both, nil))(t)
	var b bytes.Buffer
	must.Do(t, predict.Save(&b, given.Fitted().(predict.Predictor)))
	b.Write(given.Learned(belief.History))
	return b.Bytes()
}

// splitScenario opens a scenario with 300 training jobs, 40 for validation and 40 for test. It applies change to all jobs of the
// trace first.
func splitScenario(t testing.TB, set string, change func(i int, j *trace.Job)) *scenario.Source {
	t.Helper()
	w := must.Get(trace.Generate(trace.Default(), 400, 1))(t)
	for i := range w.Jobs {
		change(i, &w.Jobs[i])
	}
	dir := t.TempDir()
	f := must.Get(os.Create(filepath.Join(dir, "t.csv")))(t)
	must.Do(t, errors.Join(trace.WriteNative(f, w.Jobs), f.Close()))
	const text = `name: fitted-v1
cluster: {servers: 8, gpus_per_server: 8}
workload: {trace: t.csv, oversize: clamp}
window: {arrivals: 40, train: [0.1, 0.85], validation: [0.85, 0.95], test: [0, 0.1]}
`
	path := filepath.Join(dir, "s.yaml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return scenariotest.Open(t, path, set)
}

// TestFitSeesOnlyTheTrainingSplit checks that any change to the jobs of other splits leaves the bytes of the fitted predictor as
// they are, and that a change to one training job does not, also if the scenario assigns models and groups.
func TestFitSeesOnlyTheTrainingSplit(t *testing.T) {
	const first, end = 40, 340 // the training split
	for _, set := range []string{"workload.models=", "workload.models=default", "workload.mix.recurring=0.7"} {
		want := fittedBytes(t, splitScenario(t, set, func(int, *trace.Job) {}))
		for seed := range uint64(5) {
			draw := rand.New(rand.NewPCG(seed, 1))
			got := fittedBytes(t, splitScenario(t, set, func(i int, j *trace.Job) {
				if i < first || i >= end {
					j.Work = time.Duration(1+draw.IntN(100_000)) * time.Second
					j.Workers, j.User, j.Tenant = 1+draw.Int32N(8), fmt.Sprint("user", draw.IntN(3)), "t"
				}
			}))
			if !bytes.Equal(got, want) {
				t.Errorf("%s, seed %d: a change to jobs of other splits changes what is fitted", set, seed)
			}
		}
		for _, changed := range []int{first, end - 1} {
			got := fittedBytes(t, splitScenario(t, set, func(i int, j *trace.Job) {
				if i == changed {
					j.Work += time.Second
				}
			}))
			if bytes.Equal(got, want) {
				t.Errorf("%s: a change to training job %d does not change what is fitted", set, changed)
			}
		}
	}
}

// TestFitNeverSeesJobsOfWindows checks that no job of any validation or test window, nor one that warms it up, is among those that
// policies are fitted on, in scenarios with every kind of window.
func TestFitNeverSeesJobsOfWindows(t *testing.T) {
	for _, sets := range [][]string{
		nil,
		{"window.warm=30"},
		{"window.resample.test=20", "window.warm=10"},
		{"window.arrivals=0", "window.duration=30m"},
		{"window.train=[0.5,0.9]", "window.validation=[0.9,1]", "window.test=[0,0.5]"},
	} {
		src := scenariotest.Open(t, "embedded-small-v1", append([]string{"workload.jobs=1500", "window.arrivals=50"}, sets...)...)
		past := newPast(src)
		jobs := past.jobs
		seen := map[string]bool{}
		past.jobs = func() ([]trace.Job, error) {
			all, err := jobs()
			for i := range all {
				seen[all[i].Name] = true
			}
			return all, err
		}
		must.Get(past.fit(t.Context(), both, nil))(t)
		windows := 0
		for _, split := range []scenario.Split{scenario.Validation, scenario.Test} {
			for i := range src.Count(split) {
				e := must.Get(src.Episode(split, i, 1))(t)
				windows++
				for k := range e.Jobs {
					if seen[e.Jobs[k].Name] {
						t.Errorf("%v: the fit has seen job %s of %s", sets, e.Jobs[k].Name, e.Name)
					}
				}
			}
		}
		if len(seen) < 100 || windows < 2 {
			t.Errorf("%v: %d jobs fitted on, %d windows", sets, len(seen), windows)
		}
	}
}

// TestRunFitsOnce checks that Run fits once for a suite and its copies, for all windows, seeds, policies and workers, that the
// number of workers does not change the results, and that cases in the journal need no fit.
func TestRunFitsOnce(t *testing.T) {
	names := []string{"a-srpt:predictor=fitted", "a-srpt:predictor=fitted:backfill=easy+loan", "las"}
	var want []byte
	for _, workers := range []int{1, 2, 7} {
		plan := smallPlan(t)
		plan.Policies, plan.Workers, plan.Journal = found(t, names...), workers, t.TempDir()
		fits, told := 0, 0
		jobs := plan.Suites[0].Past.jobs
		plan.Suites[0].Past.jobs = func() ([]trace.Job, error) { fits++; return jobs() }
		plan.Fitting = func(scenario string, n, of int) {
			if told++; scenario != "embedded-small-v1" || n != of || n != 360 {
				t.Errorf("fitting on %d of %d jobs of %s", n, of, scenario)
			}
		}
		again := plan
		again.Suites = []Suite{smallPlan(t).Suites[0]}
		again.Suites[0].Past.jobs = func() ([]trace.Job, error) { t.Error("cases of the journal are fitted again"); return jobs() }
		unkept := plan // a copy
		unkept.Journal = ""
		for _, p := range []Plan{plan, unkept, again} {
			results := must.Get(Run(t.Context(), p, nil))(t)
			var b bytes.Buffer
			must.Do(t, WriteJSONL(&b, results))
			if want == nil {
				want = b.Bytes()
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%d workers: other results", workers)
			}
		}
		if fits != 1 || told != 1 {
			t.Errorf("%d workers: %d fits, told %d times, want 1", workers, fits, told)
		}
	}
}

// TestFittedEqualsFile checks that a policy plays alike with predictor=fitted and with the file that holds the same predictor.
func TestFittedEqualsFile(t *testing.T) {
	plan := smallPlan(t)
	given := must.Get(plan.Suites[0].Past.fit(t.Context(), both, nil))(t)
	t.Chdir(t.TempDir())
	var b bytes.Buffer
	must.Do(t, predict.Save(&b, given.Fitted().(predict.Predictor)))
	must.Do(t, os.WriteFile("x.predictor", b.Bytes(), 0o600))
	plan.Policies = found(t, "a-srpt:predictor=fitted", "a-srpt:predictor=x.predictor", "a-srpt")
	results := must.Get(Run(t.Context(), plan, nil))(t)
	differ := 0
	for i := 0; i < len(results); i += 3 {
		if fitted, file := results[i].SumJCT, results[i+1].SumJCT; fitted != file {
			t.Errorf("%v: completion times of %v s, with the file %v s", results[i].Case, fitted, file)
		}
		if results[i].SumJCT != results[i+2].SumJCT {
			differ++
		}
	}
	if differ == 0 {
		t.Error("what is fitted makes no difference")
	}
}

func TestPlansThatCannotBeFitted(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		set    string
		split  scenario.Split
		change func(*Plan)
		want   string
	}{
		{"no training split", t.Context(), "window.train=[]", scenario.Test, func(*Plan) {},
			"fit policy a-srpt:predictor=fitted on the training split of embedded-small-v1: the scenario has no training split (window.train)"},
		{"too few jobs", t.Context(), "window.train=[0,0.1]", scenario.Test, func(*Plan) {},
			"fit policies on the training split of embedded-small-v1: fit a random forest on 60 jobs: want at least 100"},
		{"jobs that cannot be read", t.Context(), "window.warm=0", scenario.Test, func(p *Plan) {
			p.Suites[0].Past.jobs = func() ([]trace.Job, error) { return nil, errors.New("broken") }
		}, "fit policies on the training split of embedded-small-v1: broken"},
		{"cancelled", cancelled, "window.warm=0", scenario.Test, func(*Plan) {}, "context canceled"},
		{"the training windows", t.Context(), "window.warm=0", scenario.Train, func(*Plan) {},
			"policy a-srpt:predictor=fitted was trained or chosen on jobs of train of embedded-small-v1 ("},
	} {
		src := scenariotest.Open(t, "embedded-small-v1", "workload.jobs=600", "window.arrivals=40", "cluster.servers=4", c.set)
		plan := must.Get(newPlan(src, c.split, nil, found(t, "las", "a-srpt:predictor=fitted")))(t)
		c.change(&plan)
		if _, err := Run(c.ctx, plan, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.name, err, c.want)
		}
	}
}

// TestCancelledFitIsNotKept checks that a fit that was interrupted is done again.
func TestCancelledFitIsNotKept(t *testing.T) {
	plan := smallPlan(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fits := found(t, "a-srpt:predictor=fitted")
	if _, err := plan.Suites[0].Fit(ctx, fits, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	fitted, err := plan.Suites[0].Fit(t.Context(), fits, nil)
	if err != nil || fitted[0].With != nil || fitted[0].Name != "a-srpt:predictor=fitted" || fits[0].With == nil {
		t.Errorf("%+v, error %v", fitted, err)
	}
}

// TestLearnedWithoutForest checks that policies that only learn run times are fitted on training splits that are too short for a
// forest, and that all cases of a suite share one learner of each kind.
func TestLearnedWithoutForest(t *testing.T) {
	src := scenariotest.Open(t, "embedded-small-v1", "workload.jobs=600", "window.arrivals=40", "cluster.servers=4", "window.train=[0,0.1]")
	names := []string{"sjf+know:seen=training", "srsf+know:seen=training:by=mean", "sjf+know:seen=training:time=history"}
	plan := must.Get(newPlan(src, scenario.Test, nil, found(t, names...)))(t)
	plan.Workers = 2
	must.Get(Run(t.Context(), plan, nil))(t)
	past := plan.Suites[0].Past
	kinds := []belief.Kind{belief.Age, belief.History}
	if len(past.learned) != len(kinds) || len(past.read) != 60 || past.fresh != nil {
		t.Errorf("%d learners taught by %d jobs, forest %v", len(past.learned), len(past.read), past.fresh != nil)
	}
	for _, kind := range kinds {
		before := past.learned[kind]
		if bytes.Equal(before, belief.New(kind, belief.Mean).Save()) {
			t.Errorf("%s has learned nothing", kind)
		}
		if again := past.learn(kind); &again[0] != &before[0] {
			t.Errorf("%s is taught again", kind)
		}
	}
}
