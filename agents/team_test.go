package agents_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// workload returns contended jobs: gangs of up to three servers of 8, shares of a GPU if asked for, and equal durations.
func workload(n int, seed uint64, shares bool) []trace.Job {
	r := rand.New(rand.NewPCG(seed, 1))
	jobs := make([]trace.Job, n)
	sizes := []int32{1, 1, 1, 1, 2, 2, 4, 8, 16, 24}
	at := time.Duration(0)
	for i := range jobs {
		at += time.Duration(r.ExpFloat64() * float64(3*time.Minute)).Round(time.Second)
		j := &jobs[i]
		j.Name, j.Submit = fmt.Sprint(i), at
		j.Workers, j.Request = sizes[r.IntN(len(sizes))], cluster.Amount{GPUMilli: cluster.WholeGPU}
		if shares && r.IntN(3) == 0 {
			j.Request = cluster.Amount{GPUMilli: int32(100 * (1 + r.IntN(9))), CPUMilli: 500}
		}
		j.Work = time.Duration(1+r.IntN(60)) * time.Minute
		j.Estimate = j.Work
	}
	return jobs
}

func play(t *testing.T, c cluster.Spec, jobs []trace.Job, s cluster.Scheduler) *sim.Log {
	t.Helper()
	run, err := sim.New(sim.Config{Cluster: c, Physics: physics.Compose(physics.InterServer{Penalty: 0.5})}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Run(t.Context(), s, 1); err != nil {
		t.Fatal(err)
	}
	return run.Log()
}

func text(t *testing.T, l *sim.Log) []byte {
	t.Helper()
	var b bytes.Buffer
	for i := range l.Records {
		r := &l.Records[i]
		fmt.Fprintln(&b, r.At, r.Kind, r.Job, l.Placement(r), l.GPUs(r))
	}
	return b.Bytes()
}

func newPolicy(t *testing.T, seed uint64) *agents.Policy {
	t.Helper()
	p, err := agents.NewPolicy("learned", agents.DefaultSize(), 32, nil, rand.New(rand.NewPCG(seed, 2)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// An untrained team is its prior, and the prior is sjfskip, or sjfhold with its bound: the same log, byte for byte, gangs
// across servers, shares of GPUs and CPU limits included.
func TestUntrainedIsPriorIsHeuristic(t *testing.T) {
	for _, shares := range []bool{false, true} {
		for _, hold := range []float64{0, 1, 3} {
			untrained(t, shares, hold)
		}
	}
}

func untrained(t *testing.T, shares bool, hold float64) {
	t.Helper()
	for seed := range uint64(4) {
		c := cluster.Uniform(6, 8)
		if shares {
			for i := range c.Servers {
				c.Servers[i].CPUMilli = 6000
			}
		}
		jobs := workload(300, seed, shares)
		p := newPolicy(t, seed)
		p.Hold = hold
		prior := text(t, play(t, c, jobs, agents.NewPrior(p)))
		if got := text(t, play(t, c, jobs, agents.NewTeam(p))); !bytes.Equal(got, prior) {
			t.Fatalf("seed %d, shares %v: the untrained team differs from its prior", seed, shares)
		}
		if got := text(t, play(t, c, jobs, baselines.NewHold(hold))); !bytes.Equal(got, prior) {
			t.Fatalf("seed %d, shares %v: the prior differs from sjfhold(%v)", seed, shares, hold)
		}
	}
}

// A team with any weights finishes every job, is never refused, and decides the same twice.
func TestTeamWithRandomWeights(t *testing.T) {
	for seed := range uint64(4) {
		p := newPolicy(t, seed)
		r := rand.New(rand.NewPCG(seed, 3))
		for i := range p.Params {
			for j := range p.Params[i].Data {
				p.Params[i].Data[j] += float32(0.5 * r.NormFloat64())
			}
		}
		jobs := workload(200, seed, true)
		first := play(t, cluster.Uniform(5, 8), jobs, agents.NewTeam(p))
		if !bytes.Equal(text(t, first), text(t, play(t, cluster.Uniform(5, 8), jobs, agents.NewTeam(p)))) {
			t.Fatalf("seed %d: two runs differ", seed)
		}
	}
}

// Sampled rounds through the environment are never refused, and every recorded draw is a legal one with its probability.
func TestSampledRounds(t *testing.T) {
	p := newPolicy(t, 1)
	e, err := env.New(env.Config{
		Sim:  sim.Config{Cluster: cluster.Uniform(4, 8)},
		Jobs: func(seed uint64) ([]trace.Job, error) { return workload(150, seed, false), nil }, Encoder: p.Encoder(),
		SkipForced: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	spec := e.Spec()
	d := agents.NewDecoder(spec, 0, agents.NewNet(p.Shape, p.Params))
	var ts env.TimeStep
	if err := e.Reset(3, &ts); err != nil {
		t.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(5, 5))
	joint := make([]env.Action, spec.Agents)
	draws, gangs := 0, 0
	for !ts.Over() {
		d.Round(&ts, draw, joint, func(c *agents.Choice) {
			draws++
			gangs += len(c.Committed)
			if !c.Legal[c.Action] || c.LogProb > 0 {
				t.Fatalf("draw %d of a choice that is legal=%v with log-probability %v", c.Action, c.Legal[c.Action], c.LogProb)
			}
		})
		if err := e.Step(joint, &ts); err != nil {
			t.Fatal(err)
		}
		if len(ts.Refused) > 0 {
			t.Fatalf("refused %v", ts.Refused)
		}
	}
	if draws == 0 || gangs == 0 {
		t.Fatalf("%d draws, %d of them within gangs: the test saw nothing", draws, gangs)
	}
}

// Without estimates the prior goes by submission and skips what does not fit: fjf, byte for byte.
func TestBlindPriorIsFJF(t *testing.T) {
	for seed := range uint64(4) {
		jobs := workload(250, seed, true)
		for i := range jobs {
			jobs[i].Estimate = 0
		}
		p := newPolicy(t, seed)
		p.Hold = 5 // nothing to compare with: it must not matter
		want := text(t, play(t, cluster.Uniform(5, 8), jobs, baselines.NewSkip()))
		if got := text(t, play(t, cluster.Uniform(5, 8), jobs, agents.NewTeam(p))); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: the untrained team differs from fjf", seed)
		}
	}
}
