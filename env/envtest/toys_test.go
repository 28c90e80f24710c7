package envtest_test

import (
	"math"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/must"
)

// search returns the highest return of an episode that begins with the joint actions of the prefix, by trying all continuations.
// As rewards are never positive, it cuts a branch whose return is not above the best so far, including endless passing.
func search(t *testing.T, e env.Env, prefix [][]game.Action, best float64) float64 {
	var ts env.TimeStep
	must.Do(t, e.Reset(1, &ts))
	sum := ts.Reward
	for _, joint := range prefix {
		must.Do(t, e.Step(joint, &ts))
		sum += ts.Reward
	}
	switch {
	case sum <= best:
		return best
	case ts.Over():
		return sum
	}
	for _, joint := range joints(&ts, nil, e.Spec().Agents) {
		best = search(t, e, append(slices.Clip(prefix), joint), best)
	}
	return best
}

// joints returns the legal joint actions that begin with head.
func joints(ts *env.TimeStep, head []game.Action, agents int) [][]game.Action {
	if len(head) == agents {
		return [][]game.Action{head}
	}
	var all [][]game.Action
	for n, ok := range ts.Legal(len(head)) {
		if ok {
			all = append(all, joints(ts, append(slices.Clip(head), game.Action(n)), agents)...)
		}
	}
	return all
}

func fresh(t *testing.T, toy envtest.Toy) env.Env {
	t.Helper()
	return must.Get(toy.Make())(t)
}

func TestToysHaveTheirOptimum(t *testing.T) {
	for _, toy := range envtest.Toys() {
		if got := search(t, fresh(t, toy), nil, 2*toy.Prior); math.Abs(got-toy.Optimum) > 1e-9 {
			t.Errorf("%s: the best of all joint actions gives %v, want %v", toy.Name, got, toy.Optimum)
		}
	}
}

// TestToysNeedLearning checks that neither the prior nor passing solves a toy.
func TestToysNeedLearning(t *testing.T) {
	prior := func(ts *env.TimeStep, joint []game.Action) { ts.Unanimous(ts.Prior, joint) }
	pass := func(_ *env.TimeStep, joint []game.Action) { clear(joint) }
	for _, toy := range envtest.Toys() {
		if got := play(t, fresh(t, toy), prior); math.Abs(got-toy.Prior) > 1e-9 || got >= toy.Optimum {
			t.Errorf("%s: the prior gets %v, want %v, the optimum is %v", toy.Name, got, toy.Prior, toy.Optimum)
		}
		if got := play(t, fresh(t, toy), pass); got >= toy.Optimum {
			t.Errorf("%s: doing nothing gets %v, the optimum is %v", toy.Name, got, toy.Optimum)
		}
	}
}

// TestToDisagreeIsDear checks that, in the toy about agreement, a single server that names the gang does worse than one that
// follows the prior.
func TestToDisagreeIsDear(t *testing.T) {
	toys := envtest.Toys()
	toy := toys[slices.IndexFunc(toys, func(t envtest.Toy) bool { return t.Name == "agree" })]
	alone := func(ts *env.TimeStep, joint []game.Action) {
		ts.Unanimous(ts.Prior, joint)
		for n := game.Action(2); int(n) <= len(ts.List); n++ {
			if ts.List[n-1].Job == 2 && len(ts.Members(n)) == 2 {
				joint[0], joint[1] = n, game.Pass
			}
		}
	}
	if got := play(t, fresh(t, toy), alone); got > toy.Prior-300 {
		t.Errorf("one server names the gang alone: %v, the prior gets %v", got, toy.Prior)
	}
}

func play(t *testing.T, e env.Env, policy func(*env.TimeStep, []game.Action)) float64 {
	t.Helper()
	var ts env.TimeStep
	must.Do(t, e.Reset(1, &ts))
	joint := make([]game.Action, e.Spec().Agents)
	sum := ts.Reward
	for !ts.Over() {
		policy(&ts, joint)
		must.Do(t, e.Step(joint, &ts))
		sum += ts.Reward
	}
	return sum
}
