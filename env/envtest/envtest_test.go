package envtest_test

import (
	"math"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// generated makes environments with a loaded cluster of that many servers of 8 GPUs.
func generated(servers, jobs int, change func(*env.Config)) envtest.Make {
	return func() (env.Env, error) {
		params, err := trace.Default().WithLoad(1.3, servers*8)
		if err != nil {
			return nil, err
		}
		cfg := env.Config{
			Sim: sim.Config{Cluster: cluster.Uniform(servers, 8), Physics: physics.Compose(physics.InterServer{Penalty: 0.3})},
			Jobs: func(seed uint64) ([]trace.Job, error) {
				w, err := trace.Generate(params, jobs, seed)
				if err != nil {
					return nil, err
				}
				fits := func(j *cluster.JobSpec) bool { return int(j.Workers) <= servers*8 }
				clamped, _, err := trace.Oversize(w.Jobs, fits, trace.OversizeClamp, int32(servers*8))
				if err != nil {
					return nil, err
				}
				return clamped, trace.Estimates{Kind: trace.Oracle}.Apply(clamped, nil)
			},
			Encoder: &env.StandardEncoder{Window: 8}, SkipForced: true,
		}
		if change != nil {
			change(&cfg)
		}
		return env.New(cfg)
	}
}

// amounts spreads requests over fractions of GPUs, CPU and memory, and takes the estimates of every third job.
func amounts(cfg *env.Config) {
	spec := &cfg.Sim.Cluster
	for i := range spec.Servers {
		spec.Servers[i].CPUMilli, spec.Servers[i].MemMiB = 16_000, 64_000
	}
	jobs := cfg.Jobs
	cfg.Jobs = func(seed uint64) ([]trace.Job, error) {
		all, err := jobs(seed)
		for i := range all {
			j := &all[i]
			j.Request.GPUMilli = []int32{1000, 500, 1000, 250, 700}[i%5]
			j.Request.CPUMilli = []int32{0, 2000, 4000, 16_000}[i%4]
			j.Request.MemMiB = []int32{0, 8000, 1000}[i%3]
			j.Workers = min(j.Workers, 4)
			if i%3 == 0 {
				j.Estimate = 0
			}
		}
		return all, err
	}
}

func menu(cfg *env.Config) {
	amounts(cfg)
	cfg.Encoder = &env.StandardEncoder{Window: 5, Menu: []env.Level{
		{Name: "as requested", GPUShare: 1, CPU: 1, Memory: 1}, {Name: "half", GPUShare: 0.5, CPU: 0.5, Memory: 1},
	}}
}

// The cluster environment keeps the contract in every shape that its options give it.
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name string
		make envtest.Make
	}{
		{"loaded", generated(6, 150, nil)},
		{"every decision point", generated(6, 100, func(c *env.Config) { c.SkipForced = false })},
		{"one server", generated(1, 80, nil)},
		{"fractions, CPU, memory, few estimates", generated(5, 150, amounts)},
		{"a menu of two levels", generated(5, 120, menu)},
		{"horizon", generated(5, 150, func(c *env.Config) { c.Sim.Horizon = 20 * time.Hour })},
		{"patience", generated(3, 60, func(c *env.Config) { c.Patience = time.Minute })},
		{"time limit", func() (env.Env, error) {
			e, err := generated(5, 150, nil)()
			if err != nil {
				return nil, err
			}
			return env.NewTimeLimit(env.NewOrderCheck(e), 70)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			envtest.Run(t, c.make)
			for _, r := range envtest.Report(c.make, 1) {
				if r.Status == envtest.Skipped {
					t.Errorf("%s skipped: %s", r.Name, r.Detail)
				}
			}
		})
	}
	for _, toy := range envtest.Toys() {
		t.Run(toy.Name, func(t *testing.T) { envtest.Run(t, toy.Make) })
	}
}

// broken is a good environment with one fault.
type broken struct {
	env.Env
	reset func(ts *env.TimeStep)
	step  func(inner env.Env, joint []env.Action, ts *env.TimeStep) error
}

func (b *broken) Unwrap() env.Env { return b.Env }

func (b *broken) Reset(seed uint64, ts *env.TimeStep) error {
	err := b.Env.Reset(seed, ts)
	if b.reset != nil && err == nil {
		b.reset(ts)
	}
	return err
}

func (b *broken) Step(joint []env.Action, ts *env.TimeStep) error {
	if b.step != nil {
		return b.step(b.Env, joint, ts)
	}
	return b.Env.Step(joint, ts)
}

// after is a fault in what every step shows.
func after(fault func(spec env.Spec, ts *env.TimeStep)) func(env.Env) env.Env {
	return func(e env.Env) env.Env {
		return &broken{
			Env: e, reset: func(ts *env.TimeStep) { fault(e.Spec(), ts) },
			step: func(inner env.Env, joint []env.Action, ts *env.TimeStep) error {
				err := inner.Step(joint, ts)
				if err == nil {
					fault(e.Spec(), ts)
				}
				return err
			},
		}
	}
}

// instead is a fault in how a step is played.
func instead(step func(inner env.Env, joint []env.Action, ts *env.TimeStep) error) func(env.Env) env.Env {
	return func(e env.Env) env.Env { return &broken{Env: e, step: step} }
}

// Every check catches the fault that it is there for.
func TestMutations(t *testing.T) {
	noise := float32(0) // shared by all environments that a check makes
	for _, c := range []struct {
		name, check string
		fault       func(env.Env) env.Env
	}{
		{"a masked action looks legal", "feasible", after(func(s env.Spec, ts *env.TimeStep) {
			for a := 1; a < s.Actions(); a++ {
				if ts.Window[(a-1)/len(s.Menu)] >= 0 {
					ts.Mask[a] = true
				}
			}
		})},
		{"a legal action is masked", "feasible", after(func(s env.Spec, ts *env.TimeStep) {
			ts.Mask[len(ts.Mask)-s.Items()] = false
		})},
		{"an absent job looks legal", "window", after(func(s env.Spec, ts *env.TimeStep) {
			ts.Mask[len(ts.Mask)-1] = ts.Mask[len(ts.Mask)-1] || ts.Window[s.Window-1] < 0
		})},
		{"no-op is masked", "window", after(func(_ env.Spec, ts *env.TimeStep) { ts.Mask[0] = false })},
		{"observations drift", "deterministic", after(func(_ env.Spec, ts *env.TimeStep) {
			noise += 1e-6
			ts.Global[0] = noise
		})},
		{"the end is never cleared", "deterministic", instead(func(e env.Env, joint []env.Action, ts *env.TimeStep) error {
			old := ts.Truncated
			err := e.Step(joint, ts)
			if !ts.Over() {
				ts.Truncated = old
			}
			return err
		})},
		{"rewards are a thousandth too large", "rewards", after(func(_ env.Spec, ts *env.TimeStep) { ts.Reward *= 1.001 })},
		{"a number is not one", "range", after(func(_ env.Spec, ts *env.TimeStep) { ts.Jobs[1] = float32(math.NaN()) })},
		{"a number is out of range", "range", after(func(_ env.Spec, ts *env.TimeStep) { ts.Servers[0] = 1.01 })},
		{"a slice is short", "shape", after(func(_ env.Spec, ts *env.TimeStep) { ts.Global = ts.Global[:len(ts.Global)-1] })},
		{"a bystander is refused", "refused", instead(func(e env.Env, joint []env.Action, ts *env.TimeStep) error {
			err := e.Step(joint, ts)
			for i, a := range joint {
				if a == env.NoOp {
					ts.Refused = append(ts.Refused, int32(i))
				}
			}
			return err
		})},
		{"masked actions pass", "masked", instead(func(e env.Env, joint []env.Action, ts *env.TimeStep) error {
			if e.Step(joint, ts) != nil {
				return e.Step(make([]env.Action, len(joint)), ts)
			}
			return nil
		})},
		{"steps after the end pass", "order", func(e env.Env) env.Env {
			over := false
			return &broken{Env: e, step: func(e env.Env, joint []env.Action, ts *env.TimeStep) error {
				if over {
					return nil
				}
				err := e.Step(joint, ts)
				over = err == nil && ts.Over()
				return err
			}}
		}},
		{"claims are dropped", "claims", instead(func(e env.Env, joint []env.Action, ts *env.TimeStep) error {
			return e.Step(make([]env.Action, len(joint)), ts)
		})},
		{"time is told twice", "time", after(func(_ env.Spec, ts *env.TimeStep) { ts.Elapsed *= 2 })},
		{"a job is lost", "ends", after(func(_ env.Spec, ts *env.TimeStep) {
			ts.Terminated = ts.Terminated || ts.Now > 24*time.Hour
		})},
		{"GPUs are made", "conserved", instead(func(e env.Env, joint []env.Action, ts *env.TimeStep) error {
			err := e.Step(joint, ts)
			if err == nil {
				ts.State.GPUUse(0)[0] = 0
			}
			return err
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			noise = 0
			good := generated(4, 60, nil)
			for _, r := range envtest.Report(func() (env.Env, error) {
				e, err := good()
				return c.fault(e), err
			}, 1) {
				if r.Name == c.check {
					if r.Status != envtest.Failed {
						t.Errorf("check %s %s", r.Name, r.Status)
					} else {
						t.Logf("%s: %s", r.Name, r.Detail)
					}
				}
			}
		})
	}
}
