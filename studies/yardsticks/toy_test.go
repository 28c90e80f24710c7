package yardsticks

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/game"
)

// toyTask returns the task of a toy, which has one episode, in the game that scenarios are learned in, too.
func toyTask(t *testing.T, toy *envtest.Toy) *Task {
	t.Helper()
	cfg, err := toy.Config()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Game.Agree = game.Lead
	e, err := env.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return &Task{Learn: e, Check: e, Seeds: []uint64{1}}
}

// curve trains and returns the learning curve.
func curve(t *testing.T, cfg Config, task *Task) []Point {
	t.Helper()
	_, points, err := Learn(cfg, task, nil)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// TestReachOptimum checks that both learners end at the optimum of every toy, which an exhaustive search confirms in envtest.
// Without a learning rate they must not, at least in one toy: the first weights happen to be optimal in some.
func TestReachOptimum(t *testing.T) {
	for _, learner := range Learners() {
		without := 0 // toys in which the policy is optimal without learning
		for _, toy := range envtest.Toys() {
			t.Run(learner+"/"+toy.Name, func(t *testing.T) {
				task, want := toyTask(t, &toy), toy.Optimum/toy.Prior
				cfg := DefaultConfig()
				cfg.Learner, cfg.Decisions, cfg.Seed, cfg.Rollout = learner, 6000, 2, 512
				points := curve(t, cfg, task)
				if last := points[len(points)-1]; math.Abs(last.Cost-want) > 1e-6 {
					t.Errorf("after %d decisions the policy costs %.3f of the prior's cost, want the optimum %.3f",
						last.Decisions, last.Cost, want)
				}
				cfg.Rate, cfg.Decisions = 0, 20
				points = curve(t, cfg, task)
				if last := points[len(points)-1]; math.Abs(last.Cost-want) < 1e-6 {
					without++
				}
			})
		}
		if without == len(envtest.Toys()) {
			t.Errorf("%s finds the optimum of every toy without learning", learner)
		}
	}
}

// TestEqualSeedsGiveEqualBytes checks that equal configurations give equal weights and curves, and other seeds do not.
func TestEqualSeedsGiveEqualBytes(t *testing.T) {
	toy := envtest.Toys()[1]
	for _, learner := range Learners() {
		cfg := DefaultConfig()
		cfg.Learner, cfg.Decisions, cfg.Rollout = learner, 1200, 512
		weights := func() [][]float32 {
			p, _, err := Learn(cfg, toyTask(t, &toy), nil)
			if err != nil {
				t.Fatal(err)
			}
			var all [][]float32
			for _, w := range p.net.params() {
				all = append(all, w.Data.([]float32))
			}
			return all
		}
		first := weights()
		if again := weights(); !cmp.Equal(first, again) {
			t.Errorf("%s: equal seeds give other weights", learner)
		}
		cfg.Seed++
		if other := weights(); cmp.Equal(first, other) {
			t.Errorf("%s: another seed gives the same weights", learner)
		}
	}
}
