package decide_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestStatesTeachWhatTheLogDoes checks that the states of an episode teach a memory the jobs that have ended, each by the next
// state, and their run times up to the time between two states.
func TestStatesTeachWhatTheLogDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var jobs []trace.Job
		at := time.Duration(0)
		for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			var j trace.Job
			at += time.Duration(rapid.IntRange(0, 900).Draw(t, "later")) * time.Second
			j.Name, j.Submit, j.Workers = fmt.Sprint("job ", i), at, rapid.Int32Range(1, 4).Draw(t, "workers")
			j.User = fmt.Sprint("user ", i) // so that the learner can be asked for one job
			j.Work = time.Duration(rapid.IntRange(1, 3000).Draw(t, "work")) * time.Second
			j.Request = cluster.Amount{GPUMilli: cluster.WholeGPU}
			jobs = append(jobs, j)
		}
		name := rapid.SampledFrom([]string{"fifo", "las", "las:levels=single:quantum=0"}).Draw(t, "policy")
		policy := must.Get(baselines.New(name))(t)
		e, err := sim.New(sim.Config{
			Cluster: cluster.Uniform(2, 2), Restart: sim.Pause(time.Duration(rapid.IntRange(0, 60).Draw(t, "pause")) * time.Second),
			Hidden: sim.Hidden{Speeds: true},
		}, jobs)
		must.Do(t, err)
		must.Do(t, e.Run(t.Context(), policy, 1))
		m := belief.NewMemory()
		least, most := belief.New(belief.History, belief.Mean), belief.New(belief.History, belief.Mean)
		var state *cluster.State // after the last decision, nil before
		var ended []*cluster.JobSpec
		taught, seen := int64(0), time.Duration(0)
		look := sim.Look{
			Before: func(tx *cluster.Txn, _ int) {
				s := tx.View()
				if state != nil && s.Now() > state.Now() { // the last state of an instant
					got := m.Learn(&state.View, nil)
					taught += got.Ended
					if got.Skipped != "" || taught != int64(len(ended)) {
						t.Fatalf("at %v: %+v, and %d jobs in all, want %d", state.Now(), got, taught, len(ended))
					}
					seen = state.Now()
				}
				gap := s.Now() - seen
				for _, e := range tx.Events() {
					if e.Kind == cluster.Finished {
						least.Ended(s.Spec(e.Job), s.Age(e.Job)-gap)
						most.Ended(s.Spec(e.Job), s.Age(e.Job)+gap)
						ended = append(ended, s.Spec(e.Job))
					}
				}
			},
			After: func(tx *cluster.Txn, _ int) bool {
				state = new(cluster.State)
				tx.View().CopyTo(state)
				return true
			},
		}
		must.Do(t, sim.Visit(e.Log(), look))
		m.Learn(&state.View, nil)
		learned := m.Times(belief.History, belief.Mean)
		for _, spec := range ended {
			lo, is, hi := least.Of(spec).Mean(0).Seconds(), learned.Of(spec).Mean(0).Seconds(), most.Of(spec).Mean(0).Seconds()
			if is < .99*lo || is > 1.01*hi {
				t.Fatalf("a new job like %s is believed to run for %g s, want %g to %g s", spec.Name, is, lo, hi)
			}
		}
	})
}
