package e2e

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// prediction is what the simulator says of jobs, by their index.
type prediction struct {
	jobs   []trace.Job
	starts []time.Duration
	ends   []time.Duration
}

// predict plays jobs in the simulator, on a cluster where a job runs as long anywhere.
func predict(t *testing.T, name string, nodes int, jobs []trace.Job) *prediction {
	t.Helper()
	p, err := new(policy.Finder).Load(name)
	if err != nil {
		t.Fatal(err)
	}
	episode := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(nodes, nodeGPUs)}, Jobs: jobs}
	s, err := episode.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), anew{p}, 1); err != nil {
		t.Fatal(err)
	}
	if !s.Outcome().Terminated {
		t.Fatalf("the simulator ends with %+v, want all jobs done", s.Outcome())
	}
	out := &prediction{jobs: jobs, starts: make([]time.Duration, len(jobs)), ends: make([]time.Duration, len(jobs))}
	for _, r := range s.Log().Records {
		switch r.Kind {
		case sim.Start:
			out.starts[r.Job] = r.At
		case sim.Finish:
			out.ends[r.Job] = r.At
		}
	}
	return out
}

// makespan is when the last job ends.
func (p *prediction) makespan() (last time.Duration) {
	for _, at := range p.ends {
		last = max(last, at)
	}
	return last
}

// wait is how long a job waits.
func (p *prediction) wait(i int) time.Duration { return p.starts[i] - p.jobs[i].Submit }

// anew asks a policy as clustergym-kube does without --preemptions-per-hour: anew for every decision, and nothing is stopped.
type anew struct{ *policy.Policy }

// Name implements cluster.Scheduler.
func (a anew) Name() string { return a.Policy.Name }

// Reset implements cluster.Scheduler.
func (a anew) Reset(uint64) error { return nil }

// Schedule implements cluster.Scheduler.
func (a anew) Schedule(tx *cluster.Txn) error {
	s, err := a.New()
	if err != nil {
		return err
	}
	if err := s.Reset(1); err != nil {
		return err
	}
	tx.Tell(tx.View().Introduce())
	if err := s.Schedule(tx); err != nil {
		return err
	}
	var all []cluster.Proposal
	for i := range tx.Ops() {
		all = append(all, tx.Ops()[i].Proposal())
	}
	tx.Rollback(0)
	new(decide.Limits).Apply(tx, all, nil)
	return nil
}
