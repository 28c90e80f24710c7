package envtest_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envtest"
)

// search returns the best sum of rewards that follows the joint actions of the prefix, by trying all others. Rewards are
// never positive, so a branch that is no better than the best so far is cut.
func search(t *testing.T, make envtest.Make, prefix [][]env.Action, best float64) float64 {
	e, err := make()
	if err != nil {
		t.Fatal(err)
	}
	var ts env.TimeStep
	if err := e.Reset(1, &ts); err != nil {
		t.Fatal(err)
	}
	sum := ts.Reward
	for _, joint := range prefix {
		if err := e.Step(joint, &ts); err != nil {
			t.Fatal(err)
		}
		sum += ts.Reward
	}
	switch {
	case sum <= best || len(prefix) > 12:
		return best
	case ts.Over():
		return sum
	}
	spec := e.Spec()
	for _, joint := range joints(&spec, &ts, nil) {
		best = search(t, make, append(slices.Clip(prefix), joint), best)
	}
	return best
}

// joints lists the legal joint actions that begin like head.
func joints(spec *env.Spec, ts *env.TimeStep, head []env.Action) [][]env.Action {
	if len(head) == spec.Agents {
		return [][]env.Action{head}
	}
	var all [][]env.Action
	for a, ok := range ts.Legal(spec, len(head)) {
		if ok {
			all = append(all, joints(spec, ts, append(slices.Clip(head), env.Action(a)))...)
		}
	}
	return all
}

func TestToysHaveTheirOptimum(t *testing.T) {
	for _, toy := range envtest.Toys() {
		if got := search(t, toy.Make, nil, math.Inf(-1)); math.Abs(got-toy.Optimum) > 1e-9 {
			t.Errorf("%s: the best of all joint actions gives %v, want %v", toy.Name, got, toy.Optimum)
		}
	}
}

// A toy tells nothing if the obvious policy solves it, or if doing nothing pays.
func TestToysNeedThought(t *testing.T) {
	greedy := func(spec *env.Spec, ts *env.TimeStep, joint []env.Action) { // shortest job first, by everybody who can
		clear(joint)
		for k := range ts.Window {
			for i := range joint {
				if ts.Legal(spec, i)[1+k] {
					joint[i] = env.Action(1 + k)
				}
			}
			if slices.Max(joint) > 0 {
				return
			}
		}
	}
	idle := func(_ *env.Spec, _ *env.TimeStep, joint []env.Action) { clear(joint) }
	want := map[string]float64{"packing": -150, "claimants": -150, "gang": -(2 + 100 + 120)}
	for _, toy := range envtest.Toys() {
		if got := play(t, toy.Make, greedy, 100); math.Abs(got-want[toy.Name]) > 1e-9 {
			t.Errorf("%s: greedy gets %v, want %v", toy.Name, got, want[toy.Name])
		}
		if got := play(t, toy.Make, idle, 10); got >= toy.Optimum {
			t.Errorf("%s: ten steps of doing nothing get %v, the optimum is %v", toy.Name, got, toy.Optimum)
		}
	}
}

func play(t *testing.T, make envtest.Make, policy func(*env.Spec, *env.TimeStep, []env.Action), limit int) float64 {
	t.Helper()
	e, err := make()
	if err != nil {
		t.Fatal(err)
	}
	var ts env.TimeStep
	if err := e.Reset(1, &ts); err != nil {
		t.Fatal(err)
	}
	spec := e.Spec()
	joint := slices.Repeat([]env.Action{env.NoOp}, spec.Agents)
	sum := ts.Reward
	for range limit {
		if ts.Over() {
			break
		}
		policy(&spec, &ts, joint)
		if err := e.Step(joint, &ts); err != nil {
			t.Fatal(err)
		}
		sum += ts.Reward
	}
	return sum
}

// The optimum of the gang toy without the environment: all orders in which the jobs of the gang toy start,
// each as early as its order and two GPUs allow.
func TestGangToyByHand(t *testing.T) {
	type job struct{ submit, workers, seconds int }
	jobs := []job{{0, 1, 2}, {1, 1, 100}, {1, 2, 20}}
	best := math.MaxInt
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		free := []int{0, 0} // when each GPU becomes free
		last, sum := 0, 0
		for _, n := range order {
			j := jobs[n]
			slices.SortFunc(free, cmp.Compare[int])
			at := max(j.submit, free[j.workers-1], last)
			for g := range j.workers {
				free[g] = at + j.seconds
			}
			last, sum = at, sum+at+j.seconds-j.submit
		}
		best = min(best, sum)
	}
	for _, toy := range envtest.Toys() {
		if toy.Name == "gang" && toy.Optimum != -float64(best) {
			t.Errorf("optimum %v, want %v", toy.Optimum, -best)
		}
	}
}
