package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// amountsPhysics is how fast jobs run in the tests of amounts: as their CPU and memory allow.
const amountsPhysics = "cpu-mem"

// What every pod of these tests requests for each of its GPUs, and what a node has. Few jobs of a real trace say what they need, so
// that all request the same, as in the scenarios of the trace.
const (
	requestMilli, requestMiB = 3000, 40 << 10
	nodeMilli, nodeMiB       = 96_000, 768 << 10
)

// modelled gives the jobs models by their GPU-hours in the trace, as scenarios do, and requests. A scheduler is told no model.
func (w *replayWindow) modelled(jobs []gangJob) {
	mix := trace.Mix{Classes: scenario.DefaultClasses(), CPUMilli: requestMilli, MemMiB: requestMiB}
	all := simulated(jobs)
	for i := range all {
		all[i].Work *= time.Duration(w.speed)
	}
	mix.Apply(all, 1)
	for i := range all {
		j := &jobs[i]
		j.Model, j.Request = all[i].Model, all[i].Request
		j.Request.GPUMemMiB = 0
		j.Estimate, j.Tenant = 0, "default"
	}
}

// learning is a scheduler that decides as clustergym-kube does, with a decider that learns from one decision to the next, and within
// bounds on what jobs may hold.
type learning struct {
	*decide.Decider
	name string
	most float64 // factor on the CPU requested; 1: as requested
	n    int
}

func newLearning(t *testing.T, name string, most float64) *learning {
	t.Helper()
	source, err := (&policy.Finder{Memory: true}).Find(name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := decide.New(decide.Config{Source: source, Seed: 1, Deadline: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return &learning{Decider: d, name: name, most: most}
}

// Name implements cluster.Scheduler.
func (l *learning) Name() string { return l.name }

// Reset implements cluster.Scheduler.
func (l *learning) Reset(uint64) error { return nil }

// Schedule implements cluster.Scheduler.
func (l *learning) Schedule(tx *cluster.Txn) error {
	var s cluster.State
	tx.View().CopyTo(&s)
	l.n++
	out, err := l.Decide(context.Background(), &s.View, fmt.Sprint(l.n), false)
	if err != nil {
		return err
	}
	l.Record(&s.View, nil, out.Answer, nil)
	limits := decide.Limits{Amounts: func(id cluster.JobID, _ cluster.ServerID) (least, most cluster.Amount) {
		least, most = s.Spec(id).Request, s.Spec(id).Request
		most.CPUMilli = int32(float64(most.CPUMilli) * l.most)
		return least, most
	}}
	limits.Apply(tx, out.Proposals, nil)
	return nil
}

// predictAmounts simulates the jobs in a world that tells the policy nothing but readings.
func predictAmounts(t *testing.T, name string, most float64, nodes int, every time.Duration, jobs []trace.Job) *prediction {
	t.Helper()
	model, err := physics.Parse(amountsPhysics)
	if err != nil {
		t.Fatal(err)
	}
	spec := cluster.Uniform(nodes, nodeGPUs)
	for i := range spec.Servers {
		spec.Servers[i].CPUMilli, spec.Servers[i].MemMiB = nodeMilli, nodeMiB
	}
	return play(t, sim.Episode{Jobs: jobs, Config: sim.Config{
		Cluster: spec, Physics: model, Hidden: sim.Hidden{Speeds: true, Models: sim.NoName}, Readings: sim.Readings{Interval: every},
	}}, newLearning(t, name, most))
}
