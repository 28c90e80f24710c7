package tune_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/tune"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// TestNamesAreOfRules checks that every candidate is a policy, and that none comes twice.
func TestNamesAreOfRules(t *testing.T) {
	names := tune.Names()
	for _, name := range names {
		if _, err := all.Table().Parse(name); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(names)
	if n := len(names); n < 80 || len(slices.Compact(names)) < n {
		t.Errorf("%d names, or one comes twice", n)
	}
}

// tuned tunes a few rules on the small scenario, with a journal in dir.
func tuned(t *testing.T, objective, dir string, stop int) (*tune.Result, error) {
	t.Helper()
	o := must.Get(objectives.Open(objective))(t)
	s := must.Get(scenario.Load("embedded-small-v1", "workload.jobs=6000"))(t)
	src := must.Get(s.Open())(t)
	from := policy.Finder{Table: all.Table()}
	load := func(names ...string) (list []policy.Policy) {
		for _, name := range names {
			p := must.Get(from.Load(name))(t)
			list = append(list, *p)
		}
		return list
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	plays := 0
	return tune.Run(ctx, tune.Config{
		Source: src, Objective: o, Dir: dir, Seed: 1, Beside: load("fifo"),
		Rules: load("fifo", "fjf", "sjfskip", "srsf", "srsf:gain=240", "las", "index", "random", "serverfilling"),
		Play: func(ctx context.Context, plan eval.Plan, _ []int) ([]eval.Result, error) {
			if plays++; plays == stop {
				cancel()
			}
			plan.Build = "test"
			return eval.Run(ctx, plan, nil)
		},
	})
}

// TestTune checks that the best rule is the one that a sweep over all windows finds, and that an interrupted tuning goes on to
// the same result.
func TestTune(t *testing.T) {
	whole := must.Get(tuned(t, "small-first", t.TempDir(), 0))(t)
	if whole.Best != "index" || len(whole.Steps) < 2 || len(whole.Test.Policies) != 2 {
		t.Fatalf("best %s after %+v", whole.Best, whole.Steps)
	}
	for _, s := range whole.Steps {
		if !slices.IsSortedFunc(s.Ranked, func(a, b tune.Ranked) int { return int(1e6 * (a.Cost - b.Cost)) }) || s.Kept < 1 {
			t.Errorf("step %+v", s)
		}
	}
	dir := t.TempDir()
	if _, err := tuned(t, "small-first", dir, 2); err == nil {
		t.Fatal("an interrupted tuning ended without an error")
	}
	again := must.Get(tuned(t, "small-first", dir, 0))(t)
	if !reflect.DeepEqual(again, whole) {
		t.Errorf("resumed\n%+v\nwhole\n%+v", again, whole)
	}
}
