package env_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// one is a workload of one job of a minute for two GPUs, submitted after ten seconds.
func one(c *env.Config) {
	c.Jobs = func(uint64) ([]trace.Job, error) {
		return []trace.Job{{Work: time.Minute, JobSpec: cluster.JobSpec{
			Name: "a", Submit: 10 * time.Second, Workers: 2, Estimate: time.Minute,
			Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
		}}}, nil
	}
	c.Reward = env.Flow{Scale: time.Second}
}

// The story of one job: it arrives, one agent starts it, and the step in which it finishes is the last.
func TestEpisodeOfOneJob(t *testing.T) {
	for _, skip := range []bool{true, false} {
		e := small(t, func(c *env.Config) { one(c); c.SkipForced = skip })
		var ts env.TimeStep
		if err := e.Reset(1, &ts); err != nil {
			t.Fatal(err)
		}
		if ts.Now != 10*time.Second || ts.Elapsed != ts.Now || ts.Reward != 0 || ts.Window[0] != 0 || ts.Over() {
			t.Fatalf("first step: %+v", ts)
		}
		if err := e.Step([]env.Action{0, 1, 0}, &ts); err != nil {
			t.Fatal(err)
		}
		if !skip {
			running := ts.State.Phase(0) == cluster.Running
			if ts.Now != 10*time.Second || ts.Reward != 0 || ts.Elapsed != 0 || !running || ts.Window[0] != -1 {
				t.Fatalf("second round of the instant: %+v", ts)
			}
			if err := e.Step([]env.Action{0, 0, 0}, &ts); err != nil {
				t.Fatal(err)
			}
		}
		if !ts.Terminated || ts.Truncated != "" || ts.Reward != -60 || ts.Elapsed != time.Minute || ts.Now != 70*time.Second {
			t.Fatalf("skip %v, last step: %+v", skip, ts)
		}
		if err := e.Step([]env.Action{0, 0, 0}, &ts); !errors.Is(err, env.ErrOver) {
			t.Fatalf("step after the end: %v", err)
		}
	}
}

// Idling where nothing else happens truncates, or with patience costs its time.
func TestPatience(t *testing.T) {
	idle := make([]env.Action, 3)
	var ts env.TimeStep
	e := small(t, one)
	if err := errors.Join(e.Reset(1, &ts), e.Step(idle, &ts)); err != nil {
		t.Fatal(err)
	}
	if ts.Terminated || !strings.Contains(ts.Truncated, "1 jobs wait") || ts.Reward != 0 {
		t.Errorf("without patience: %+v", ts)
	}
	e = small(t, func(c *env.Config) { one(c); c.Patience = 5 * time.Second; c.Sim.Horizon = 22 * time.Second })
	if err := errors.Join(e.Reset(1, &ts), e.Step(idle, &ts)); err != nil {
		t.Fatal(err)
	}
	if ts.Over() || ts.Reward != -5 || ts.Now != 15*time.Second {
		t.Errorf("with patience: %+v", ts)
	}
	if err := errors.Join(e.Step(idle, &ts), e.Step(idle, &ts)); err != nil {
		t.Fatal(err)
	}
	if ts.Truncated != "horizon 22s" || ts.Reward != -2 || ts.Now != 22*time.Second {
		t.Errorf("with patience until the horizon: %+v", ts)
	}
}

// A job that only a loan could serve is out of the agents' reach: patience does not wait for it for ever.
func TestPatienceEndsWhereNobodyCanAct(t *testing.T) {
	for _, skip := range []bool{true, false} {
		e := small(t, func(c *env.Config) {
			one(c)
			for i := range c.Sim.Cluster.Servers {
				c.Sim.Cluster.Servers[i].Pool = cluster.Inference
			}
			c.Patience, c.SkipForced = time.Second, skip
		})
		var ts env.TimeStep
		if err := e.Reset(1, &ts); err != nil {
			t.Fatal(err)
		}
		if !ts.Over() {
			if err := e.Step(make([]env.Action, 3), &ts); err != nil {
				t.Fatal(err)
			}
		}
		if ts.Truncated == "" {
			t.Errorf("skip %v: %+v", skip, ts)
		}
	}
}

func TestResetErrorLeavesNoEpisode(t *testing.T) {
	bad := errors.New("no such seed")
	e := small(t, func(c *env.Config) {
		jobs := c.Jobs
		c.Jobs = func(seed uint64) ([]trace.Job, error) {
			if seed == 2 {
				return nil, bad
			}
			if seed == 3 {
				return []trace.Job{{JobSpec: cluster.JobSpec{Name: "a", Workers: 1000, Request: cluster.Amount{GPUMilli: 1000}}}}, nil
			}
			return jobs(seed)
		}
	})
	for _, seed := range []uint64{2, 3} {
		var ts env.TimeStep
		if err := e.Reset(1, &ts); err != nil {
			t.Fatal(err)
		}
		if err := e.Reset(seed, &ts); err == nil || seed == 2 && !errors.Is(err, bad) {
			t.Errorf("seed %d: error %v", seed, err)
		}
		if err := e.Step(make([]env.Action, 3), &ts); !errors.Is(err, env.ErrOver) {
			t.Errorf("step after a failed reset: %v", err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	jobs := func(uint64) ([]trace.Job, error) { return nil, nil }
	for name, cfg := range map[string]env.Config{
		"no workload":       {},
		"no servers":        {Jobs: jobs},
		"a negative window": {Jobs: jobs, Encoder: &env.StandardEncoder{Window: -1}},
		"an empty menu":     {Jobs: jobs, Encoder: &env.StandardEncoder{Menu: []env.Level{}}},
		"no patience":       {Jobs: jobs, Patience: -1},
	} {
		if name != "no servers" {
			cfg.Sim.Cluster = cluster.Uniform(1, 1)
		}
		if _, err := env.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A step allocates nothing once buffers have grown: what is left is the growth of the log, less than one in a step.
func TestStepAllocatesNothing(t *testing.T) {
	e := small(t, func(c *env.Config) {
		jobs := c.Jobs
		c.Jobs = func(seed uint64) ([]trace.Job, error) {
			var all []trace.Job
			for n := range uint64(400) {
				more, _ := jobs(seed + n)
				for i := range more {
					more[i].Submit += time.Duration(n) * time.Minute
				}
				all = append(all, more...)
			}
			return all, nil
		}
	})
	spec := e.Spec()
	var ts env.TimeStep
	joint := make([]env.Action, spec.Agents)
	if err := e.Reset(1, &ts); err != nil {
		t.Fatal(err)
	}
	salt := 0
	step := func() {
		act(&spec, &ts, salt, joint)
		salt++
		if err := e.Step(joint, &ts); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		step()
	}
	if n := testing.AllocsPerRun(2000, step); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

func TestVectorStepAllocatesNothing(t *testing.T) {
	v, err := env.NewVector(several(t, 4), env.Disabled, 2)
	if err != nil {
		t.Fatal(err)
	}
	ts := make([]env.TimeStep, 4)
	if err := v.Reset(env.Seeds(1, 4), ts); err != nil {
		t.Fatal(err)
	}
	joints := make([][]env.Action, 4) // all nil: what the vector itself costs
	if n := testing.AllocsPerRun(100, func() {
		if err := v.Step(joints, ts); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

func TestTimeLimit(t *testing.T) {
	e, err := env.NewTimeLimit(env.NewOrderCheck(small(t, nil)), 4)
	if err != nil {
		t.Fatal(err)
	}
	var ts env.TimeStep
	idle := make([]env.Action, 3)
	for range 2 {
		if err := e.Reset(1, &ts); err != nil {
			t.Fatal(err)
		}
		for n := range 4 {
			if ts.Over() {
				t.Fatalf("over after %d steps", n)
			}
			if err := e.Step(idle, &ts); err != nil {
				t.Fatal(err)
			}
		}
		if ts.Truncated != "limit of 4 steps" || ts.Terminated {
			t.Errorf("after 4 steps: %+v", ts)
		}
		if err := e.Step(idle, &ts); !errors.Is(err, env.ErrOver) {
			t.Errorf("fifth step: %v", err)
		}
	}
	if c, ok := env.As[*env.Cluster](e); !ok || c.Log() == nil {
		t.Error("the cluster within two wrappers is not found")
	}
	if _, ok := env.As[*env.TimeLimit](small(t, nil)); ok {
		t.Error("a limit is found where there is none")
	}
	if _, err := env.NewTimeLimit(small(t, nil), 0); err == nil {
		t.Error("no error for a limit of 0")
	}
}

// careless plays on whatever it is told.
type careless struct{ env.Env }

func (careless) Step([]env.Action, *env.TimeStep) error { return nil }

func TestOrderCheck(t *testing.T) {
	e := env.NewOrderCheck(careless{small(t, nil)})
	var ts env.TimeStep
	if err := e.Step(make([]env.Action, 3), &ts); !errors.Is(err, env.ErrOver) {
		t.Errorf("step before reset: %v", err)
	}
	if err := e.Reset(1, &ts); err != nil {
		t.Fatal(err)
	}
	if err := e.Step(make([]env.Action, 2), &ts); err == nil || errors.Is(err, env.ErrOver) {
		t.Errorf("two actions for three agents: %v", err)
	}
	if err := e.Step(make([]env.Action, 3), &ts); err != nil {
		t.Error(err)
	}
	ts.Terminated = true
	if err := errors.Join(e.Step(make([]env.Action, 3), &ts), e.Close()); err != nil {
		t.Error(err)
	}
	if err := e.Step(make([]env.Action, 3), &ts); !errors.Is(err, env.ErrOver) {
		t.Errorf("step after the end: %v", err)
	}
}

// Flow over an interval counts who is in the system.
func TestFlow(t *testing.T) {
	s, err := cluster.NewState(cluster.Uniform(1, 1), 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cluster.JobID(2) {
		s.Submit(i, &cluster.JobSpec{Workers: 1, Request: cluster.Amount{GPUMilli: 1000}})
	}
	tx := s.Begin(nil)
	if err := tx.Place(0, cluster.Placement{{Workers: 1, Amount: cluster.Amount{GPUMilli: 1000}}}); err != nil {
		t.Fatal(err)
	}
	tx.End()
	for _, c := range []struct {
		scale time.Duration
		want  float64
	}{{0, -1}, {time.Hour, -1}, {time.Minute, -60}} {
		if got := (env.Flow{Scale: c.scale}).Score(s, time.Hour, 90*time.Minute); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("scale %v: %v, want %v", c.scale, got, c.want)
		}
	}
}
