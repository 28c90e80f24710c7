package envtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

// same reports the first difference between two time steps, bit for bit; State is not looked at.
func same(a, b *env.TimeStep) error {
	for _, x := range []struct {
		name string
		a, b []float32
	}{
		{"Servers", a.Servers, b.Servers}, {"Jobs", a.Jobs, b.Jobs}, {"Items", a.Items, b.Items}, {"Global", a.Global, b.Global},
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
	case !slices.Equal(a.Window, b.Window):
		return fmt.Errorf("windows are %v and %v", a.Window, b.Window)
	case math.Float64bits(a.Reward) != math.Float64bits(b.Reward):
		return fmt.Errorf("rewards are %v and %v", a.Reward, b.Reward)
	case a.Elapsed != b.Elapsed || a.Now != b.Now:
		return fmt.Errorf("times are %v, %v later, and %v, %v later", a.Now, a.Elapsed, b.Now, b.Elapsed)
	case !slices.Equal(a.Refused, b.Refused):
		return fmt.Errorf("refused are %v and %v", a.Refused, b.Refused)
	case a.Terminated != b.Terminated || a.Truncated != b.Truncated:
		return fmt.Errorf("ends are %v %q and %v %q", a.Terminated, a.Truncated, b.Terminated, b.Truncated)
	}
	return nil
}

func deterministic(make Make, seed uint64) error {
	a, err := start(make, seed, "deterministic")
	if err != nil {
		return err
	}
	defer a.close()
	// The second environment has a past, and its caller alternates two buffers full of rubbish.
	b, err := start(make, seed+1, "past")
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.through(20, b.random, func() error { return nil }); err != nil {
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

// litter fills a time step with what no environment should leave there.
func litter(ts *env.TimeStep) {
	for _, x := range [][]float32{ts.Servers, ts.Jobs, ts.Items, ts.Global} {
		for i := range x {
			x[i] = float32(math.NaN())
		}
	}
	for i := range ts.Mask {
		ts.Mask[i] = !ts.Mask[i]
	}
	for i := range ts.Window {
		ts.Window[i] = cluster.JobID(i)
	}
	ts.Reward, ts.Elapsed, ts.Now = math.NaN(), -time.Second, -time.Second
	ts.Refused = append(ts.Refused, -7)
	ts.Terminated, ts.Truncated = true, "litter"
}
