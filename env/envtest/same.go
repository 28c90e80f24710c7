package envtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/game"
)

// same returns an error about the first difference between two time steps, compared bit by bit. It ignores Cluster.
func same(a, b *env.TimeStep) error {
	for _, x := range []struct {
		name string
		a, b []float32
	}{
		{"Servers", a.Servers, b.Servers}, {"Jobs", a.Jobs, b.Jobs}, {"Candidates", a.Candidates, b.Candidates},
		{"Global", a.Global, b.Global},
	} {
		if len(x.a) != len(x.b) {
			return fmt.Errorf("%s has %d and %d numbers", x.name, len(x.a), len(x.b))
		}
		for i := range x.a {
			if math.Float32bits(x.a[i]) != math.Float32bits(x.b[i]) {
				return fmt.Errorf("%s[%d] is %v and %v", x.name, i, x.a[i], x.b[i])
			}
		}
	}
	switch {
	case !slices.Equal(a.Mask, b.Mask):
		return fmt.Errorf("masks differ")
	case !slices.Equal(a.Ids, b.Ids) || !slices.Equal(a.Of, b.Of):
		return fmt.Errorf("jobs are %v, those of candidates %v, and %v, %v", a.Ids, a.Of, b.Ids, b.Of)
	case !slices.EqualFunc(a.List, b.List, alike):
		return fmt.Errorf("candidates are %v and %v", a.List, b.List)
	case !slices.Equal(a.Coalition, b.Coalition):
		return fmt.Errorf("coalitions are %v and %v", a.Coalition, b.Coalition)
	case a.Prior != b.Prior || !slices.Equal(a.Taken, b.Taken):
		return fmt.Errorf("the prior would do %d, taken was %v, and %d, %v", a.Prior, a.Taken, b.Prior, b.Taken)
	case math.Float64bits(a.Reward) != math.Float64bits(b.Reward) || !slices.Equal(a.Rewards, b.Rewards):
		return fmt.Errorf("rewards are %v, %v and %v, %v", a.Reward, a.Rewards, b.Reward, b.Rewards)
	case a.Elapsed != b.Elapsed || a.Now != b.Now:
		return fmt.Errorf("times are %v, %v later, and %v, %v later", a.Now, a.Elapsed, b.Now, b.Elapsed)
	case !slices.Equal(a.Refused, b.Refused):
		return fmt.Errorf("refused are %v and %v", a.Refused, b.Refused)
	case a.Terminated != b.Terminated || a.Truncated != b.Truncated:
		return fmt.Errorf("ends are %v %q and %v %q", a.Terminated, a.Truncated, b.Terminated, b.Truncated)
	}
	return nil
}

// alike reports whether two candidates agree in kind, job, wait, gain and number of operations.
func alike(a, b candidates.Candidate) bool {
	return a.Kind == b.Kind && a.Job == b.Job && a.Wait == b.Wait && a.Saves == b.Saves && len(a.Ops) == len(b.Ops)
}

func deterministic(make Make, seed uint64) error {
	a, err := start(make, seed, "deterministic")
	if err != nil {
		return err
	}
	defer a.close()
	// The second environment has played before, and its caller alternates between two buffers full of garbage.
	b, err := start(make, seed+1, "past")
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.through(20, b.random, nothing); err != nil {
		return err
	}
	var buffers [2]env.TimeStep
	for i := range buffers {
		buffers[i].CopyFrom(&b.ts)
	}
	litter(&buffers[0])
	if err := b.env.Reset(seed, &buffers[0]); err != nil {
		return fmt.Errorf("reset within an episode: %w", err)
	}
	now := 0
	visit := func() error {
		if a.steps > 0 {
			now = 1 - now
			litter(&buffers[now])
			if err := b.env.Step(a.joint, &buffers[now]); err != nil {
				return a.errorf("second environment: %w", err)
			}
		}
		if err := same(&a.ts, &buffers[now]); err != nil {
			return a.errorf("two environments differ: %w", err)
		}
		return nil
	}
	if err := a.through(walkSteps, a.random, visit); err != nil || a.ts.Over() {
		return err
	}
	return a.finish(visit)
}

// litter fills a time step with garbage that the environment must overwrite.
func litter(ts *env.TimeStep) {
	for _, x := range [][]float32{ts.Servers, ts.Jobs, ts.Candidates, ts.Global} {
		for i := range x {
			x[i] = float32(math.NaN())
		}
	}
	for i := range ts.Mask {
		ts.Mask[i] = !ts.Mask[i]
	}
	for i := range ts.Rewards {
		ts.Rewards[i] = math.NaN()
	}
	ts.Ids, ts.Of = append(ts.Ids, 99), append(ts.Of, 99)
	ts.Coalition, ts.Prior, ts.Taken = append(ts.Coalition, game.Share{Candidate: 1, Weight: 7}), 99, []game.Action{99}
	ts.Reward, ts.Elapsed, ts.Now = math.NaN(), -time.Second, -time.Second
	ts.Refused = append(ts.Refused, game.Refusal{Candidate: -7})
	ts.Terminated, ts.Truncated = true, "litter"
}
