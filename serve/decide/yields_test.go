package decide_test

import (
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/serve/decide"
)

// TestStopsInVain checks that no job is stopped if the job that it would yield to cannot start in the same decision: a later
// decision could give the GPUs to anybody. The stop of one that can start is carried out.
func TestStopsInVain(t *testing.T) {
	for wants, want := range map[int32]cluster.Phase{4: cluster.Pending, 8: cluster.Running} {
		s := must.Get(cluster.NewState(cluster.Uniform(1, 4), 2))(t)
		whole := cluster.Amount{GPUMilli: cluster.WholeGPU}
		place := func(workers int32) cluster.Placement { return cluster.Placement{{Workers: workers, Amount: whole}} }
		s.Submit(0, &cluster.JobSpec{Name: "runs", Workers: 4, Request: whole})
		s.Submit(1, &cluster.JobSpec{Name: "waits", Workers: wants, Request: whole})
		tx := s.Begin(nil)
		must.Do(t, tx.Place(0, place(4)))
		tx.End()
		limits := decide.Limits{Stops: 1, Yields: func(running, other cluster.JobID) bool { return true }}
		tx = s.Begin(nil)
		limits.Apply(tx, []cluster.Proposal{
			{Kind: cluster.OpPreempt, Job: 0}, {Kind: cluster.OpPlace, Job: 1, Placement: place(wants)},
		}, nil)
		tx.End()
		if got := s.Phase(0); got != want {
			t.Errorf("the other job wants %d GPUs of 4: the running one is in phase %v, want %v", wants, got, want)
		}
	}
}
