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

// prediction is the simulator's result for jobs, by their index.
type prediction struct {
	jobs   []trace.Job
	starts []time.Duration
	ends   []time.Duration
}

// predict simulates the jobs on a cluster in which a job runs equally long anywhere.
func predict(t *testing.T, name string, nodes int, jobs []trace.Job) *prediction {
	t.Helper()
	return predictOn(t, name, cluster.Uniform(nodes, nodeGPUs), jobs)
}

// predictOn simulates the jobs on any cluster.
func predictOn(t *testing.T, name string, on cluster.Spec, jobs []trace.Job) *prediction {
	t.Helper()
	p, err := new(policy.Finder).Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return play(t, sim.Episode{Config: sim.Config{Cluster: on}, Jobs: jobs}, anew{p})
}

// play simulates an episode, in which all jobs must end.
func play(t *testing.T, episode sim.Episode, by cluster.Scheduler) *prediction {
	t.Helper()
	jobs := episode.Jobs
	s, err := episode.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), by, 1); err != nil {
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

// makespan returns the end of the last job.
func (p *prediction) makespan() (last time.Duration) {
	for _, at := range p.ends {
		last = max(last, at)
	}
	return last
}

// wait returns how long a job waits.
func (p *prediction) wait(i int) time.Duration { return p.starts[i] - p.jobs[i].Submit }

// jct returns the time from a job's submission to its end.
func (p *prediction) jct(i int) time.Duration { return p.ends[i] - p.jobs[i].Submit }

// meanJCT returns the mean time from submission to end.
func (p *prediction) meanJCT() time.Duration { return meanOf(len(p.jobs), p.jct) }

// meanOf returns the mean of a duration over n jobs.
func meanOf(n int, of func(i int) time.Duration) time.Duration {
	sum := time.Duration(0)
	for i := range n {
		sum += of(i)
	}
	return sum / time.Duration(n)
}

// anew is a scheduler that uses a policy as clustergym-kube does without --preemptions-per-hour: it creates a new scheduler for
// every decision and never stops a running job.
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
