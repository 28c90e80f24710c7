package envtest_test

import (
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// reviewed returns the usual game that reviews a baseline.
func reviewed(prior string) game.Config {
	r, err := baselines.Reviewed(prior)
	if err != nil {
		panic(err)
	}
	return game.Config{Review: r.Config, Rule: r.Rule, Encoder: &observe.Standard{Window: 8}}
}

// under sets another baseline as prior.
func under(prior string) func(*env.Config) {
	return func(c *env.Config) { c.Game = reviewed(prior) }
}

// generated makes environments with a loaded cluster of the given number of servers with 8 GPUs.
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
			Game: reviewed("fifo"),
		}
		if change != nil {
			change(&cfg)
		}
		return env.New(cfg)
	}
}

// amounts spreads requests over fractions of GPUs, CPU and memory, and removes the estimate of every third job.
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

// menu lets the prior choose amounts, share GPUs and move running jobs.
func menu(cfg *env.Config) {
	amounts(cfg)
	jobs := cfg.Jobs
	cfg.Jobs = func(seed uint64) ([]trace.Job, error) {
		all, err := jobs(seed)
		for i := range all {
			all[i].Estimate = all[i].Work
		}
		return all, err
	}
	under("srsf+menu+move")(cfg)
	cfg.Sim.Physics = physics.Compose(physics.Sharing{Strength: 0.3})
}

// TestConformance checks that the cluster environment keeps the contract with all its options.
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name string
		make envtest.Make
	}{
		{"loaded", generated(6, 100, nil)},
		{"one server", generated(1, 60, under("sjfskip"))},
		{"a prior that preempts", generated(5, 80, under("srtf"))},
		{"fractions, CPU, memory, few estimates", generated(5, 100, amounts)},
		{"amounts of a menu, and moves", generated(4, 80, menu)},
		{"a lead server", generated(5, 80, func(c *env.Config) { c.Game.Agree = game.Lead })},
		{"an objective", generated(5, 80, func(c *env.Config) {
			o, err := objectives.Open("deadlines")
			if err != nil {
				panic(err)
			}
			c.Objective = o
		})},
		{"horizon", generated(5, 100, func(c *env.Config) { c.Sim.Horizon = 20 * time.Hour })},
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

// broken is a correct environment with one added fault.
type broken struct {
	env.Env
	reset func(ts *env.TimeStep)
	step  func(inner env.Env, joint []game.Action, ts *env.TimeStep) error
}

func (b *broken) Unwrap() env.Env { return b.Env }

func (b *broken) Reset(seed uint64, ts *env.TimeStep) error {
	err := b.Env.Reset(seed, ts)
	if b.reset != nil && err == nil {
		b.reset(ts)
	}
	return err
}

func (b *broken) Step(joint []game.Action, ts *env.TimeStep) error {
	if b.step != nil {
		return b.step(b.Env, joint, ts)
	}
	return b.Env.Step(joint, ts)
}

// after adds a fault to every time step that the environment returns.
func after(fault func(spec game.Spec, ts *env.TimeStep)) func(env.Env) env.Env {
	return func(e env.Env) env.Env {
		return &broken{
			Env: e, reset: func(ts *env.TimeStep) { fault(e.Spec(), ts) },
			step: func(inner env.Env, joint []game.Action, ts *env.TimeStep) error {
				err := inner.Step(joint, ts)
				if err == nil {
					fault(e.Spec(), ts)
				}
				return err
			},
		}
	}
}

// instead adds a fault to how the environment plays a step.
func instead(step func(inner env.Env, joint []game.Action, ts *env.TimeStep) error) func(env.Env) env.Env {
	return func(e env.Env) env.Env { return &broken{Env: e, step: step} }
}

// TestMutations checks that every check catches the faults for which it exists.
func TestMutations(t *testing.T) {
	var noise atomic.Int64 // shared by all environments that a check makes; a vector steps them concurrently
	for _, c := range []struct {
		name, check string
		fault       func(env.Env) env.Env
	}{
		{"a masked action looks legal", "coalition", after(func(_ game.Spec, ts *env.TimeStep) {
			for n := 1; n <= len(ts.List); n++ {
				ts.Mask[n] = true
			}
		})},
		{"a legal action is masked", "coalition", after(func(s game.Spec, ts *env.TimeStep) {
			for i := range s.Agents {
				ts.Mask[i*s.Candidates+min(len(ts.List), 2)] = false
			}
		})},
		{"weights do not sum to 1", "coalition", after(func(_ game.Spec, ts *env.TimeStep) {
			for i := range ts.Coalition {
				ts.Coalition[i].Weight *= 0.9
			}
		})},
		{"to pass is masked", "coalition", after(func(_ game.Spec, ts *env.TimeStep) { ts.Mask[0] = false })},
		{"a candidate has another job's row", "coalition", after(func(_ game.Spec, ts *env.TimeStep) {
			for k := range ts.Of {
				ts.Of[k] = int32(len(ts.Ids) - 1)
			}
		})},
		{"observations drift", "deterministic", after(func(_ game.Spec, ts *env.TimeStep) {
			ts.Global[0] = 1e-6 * float32(noise.Add(1))
		})},
		{"the end is never cleared", "deterministic", instead(func(e env.Env, joint []game.Action, ts *env.TimeStep) error {
			old := ts.Truncated
			err := e.Step(joint, ts)
			if !ts.Over() {
				ts.Truncated = old
			}
			return err
		})},
		{"rewards are a thousandth too large", "rewards", after(func(_ game.Spec, ts *env.TimeStep) {
			ts.Reward *= 1.001
			for i := range ts.Rewards {
				ts.Rewards[i] = ts.Reward
			}
		})},
		{"one agent is given more", "rewards", after(func(_ game.Spec, ts *env.TimeStep) { ts.Rewards[1]++ })},
		{"a number is not one", "range", after(func(_ game.Spec, ts *env.TimeStep) { ts.Global[1] = float32(math.NaN()) })},
		{"a number is out of range", "range", after(func(_ game.Spec, ts *env.TimeStep) { ts.Servers[0] = 1.01 })},
		{"the row of Pass holds something", "range", after(func(_ game.Spec, ts *env.TimeStep) { ts.Candidates[0] = 1 })},
		{"a slice is short", "shape", after(func(_ game.Spec, ts *env.TimeStep) { ts.Global = ts.Global[:len(ts.Global)-1] })},
		{"nobody is told of a refusal", "agreed", after(func(_ game.Spec, ts *env.TimeStep) { ts.Refused = nil })},
		{"the wrong candidate is said to be taken", "agreed", after(func(_ game.Spec, ts *env.TimeStep) {
			if len(ts.Taken) > 0 {
				ts.Taken = []game.Action{1}
			}
		})},
		{"what agents name is dropped", "agreed", instead(func(e env.Env, joint []game.Action, ts *env.TimeStep) error {
			return e.Step(make([]game.Action, len(joint)), ts)
		})},
		{"what agents name is dropped", "prior", instead(func(e env.Env, joint []game.Action, ts *env.TimeStep) error {
			return e.Step(make([]game.Action, len(joint)), ts)
		})},
		{"masked actions pass", "masked", instead(func(e env.Env, joint []game.Action, ts *env.TimeStep) error {
			if e.Step(joint, ts) != nil {
				return e.Step(make([]game.Action, len(joint)), ts)
			}
			return nil
		})},
		{"steps after the end pass", "order", func(e env.Env) env.Env {
			over := false
			return &broken{Env: e, step: func(e env.Env, joint []game.Action, ts *env.TimeStep) error {
				if over {
					return nil
				}
				err := e.Step(joint, ts)
				over = err == nil && ts.Over()
				return err
			}}
		}},
		{"time is told twice", "time", after(func(_ game.Spec, ts *env.TimeStep) { ts.Elapsed *= 2 })},
		{"a job is lost", "ends", after(func(_ game.Spec, ts *env.TimeStep) {
			ts.Terminated = ts.Terminated || ts.Now > 24*time.Hour
		})},
		{"whoever passes is never asked again", "starved", instead(func(e env.Env, joint []game.Action, ts *env.TimeStep) error {
			err := e.Step(joint, ts)
			ts.Terminated = ts.Terminated || slices.Max(joint) == game.Pass
			return err
		})},
		{"GPUs are made", "conserved", instead(func(e env.Env, joint []game.Action, ts *env.TimeStep) error {
			err := e.Step(joint, ts)
			if err == nil {
				ts.Cluster.GPUUse(0)[0] = 0
			}
			return err
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			noise.Store(0)
			found := false
			good := generated(4, 60, nil)
			for _, r := range envtest.Report(func() (env.Env, error) {
				e, err := good()
				return c.fault(e), err
			}, 1) {
				if r.Name == c.check {
					found = true
					if r.Status != envtest.Failed {
						t.Errorf("check %s %s", r.Name, r.Status)
					} else {
						t.Logf("%s: %s", r.Name, r.Detail)
					}
				}
			}
			if !found {
				t.Errorf("no check %s", c.check)
			}
		})
	}
}
