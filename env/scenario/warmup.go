package scenario

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// warmUp simulates the jobs before a window up to the time until. It starts jobs in order of submission, and skips jobs that do
// not fit. With Window.Gather, a gang waits until it fits on as few servers as possible. warmUp returns the jobs that have not
// finished, each with its remaining work and submitted at 0, and the placements of those that run. It simulates no failures and
// no loans, so that the result is the same under every seed.
//
// The estimate of a running job shrinks by the work done, to at least a second: a scheduler that had observed the job would know
// that much. Unless estimates are true, schedulers also see the work done, as JobSpec.Ran: a job's age is what they know best of
// its run time. With true estimates it tells them nothing, and scenarios with these keep their episodes.
func (s *Source) warmUp(jobs []trace.Job, until time.Duration) ([]trace.Job, []sim.Running, error) {
	if until == 0 { // all arrive at the beginning of the window
		for i := range jobs {
			jobs[i].SubmitAt(0)
		}
		return jobs, nil, nil
	}
	cfg := s.config
	cfg.Horizon = until
	past, err := sim.New(cfg, jobs)
	if err != nil {
		return nil, nil, err
	}
	waiting := []cluster.JobID{}
	var place cluster.Placement
	gather, most := s.scenario.Window.Gather, past.State().MostGPUs()
	for tx, ok := past.Next(); ok; tx, ok = past.Next() {
		for _, e := range tx.Events() {
			if e.Kind == cluster.Arrived {
				waiting = append(waiting, e.Job)
			}
		}
		waiting = slices.DeleteFunc(waiting, func(id cluster.JobID) bool {
			var fits bool
			place, fits = tx.View().BestFit(id, place[:0])
			scattered := int32(len(place)) > (tx.View().Spec(id).Workers+most-1)/most
			return fits && !(gather && scattered) && tx.Place(id, place) == nil
		})
		past.Commit()
	}
	return s.remains(past, jobs)
}

// remains converts a simulation to the beginning of an episode.
func (s *Source) remains(past *sim.Sim, jobs []trace.Job) ([]trace.Job, []sim.Running, error) {
	state := &past.State().View
	var left []trace.Job
	var running []sim.Running
	for i := range jobs {
		id := cluster.JobID(i)
		if state.Phase(id) == cluster.Done {
			continue
		}
		j := jobs[i]
		if j.Deadline != 0 {
			j.Deadline = max(j.Deadline-state.Now(), 1)
		}
		j.Submit = 0
		if state.Phase(id) == cluster.Running {
			done := state.Progress(id)
			j.Work = max(j.Work-past.Progress(id), 1)
			if j.Estimate > 0 {
				j.Estimate = max(j.Estimate-done, time.Second)
			}
			if s.scenario.Estimates.Kind != trace.Oracle {
				j.Ran = done
			}
			where := slices.Clone(state.Placement(id))
			running = append(running, sim.Running{Job: cluster.JobID(len(left)), Placement: where})
		}
		left = append(left, j)
	}
	return left, s.placeable(left, running), nil
}

// placeable returns the running jobs whose placements can be taken one after another, those with the largest GPU shares first.
// Jobs that came and went can leave shares on the GPUs in a way that no order of placing reproduces. A job that cannot keep its
// placement for that reason waits.
func (s *Source) placeable(jobs []trace.Job, running []sim.Running) []sim.Running {
	slices.SortStableFunc(running, func(a, b sim.Running) int {
		return cmp.Compare(b.Placement[0].GPUMilli, a.Placement[0].GPUMilli)
	})
	state, err := cluster.NewState(s.config.Cluster, len(jobs))
	if err != nil {
		panic("scenario: " + err.Error()) // cannot happen: the simulator accepted the same cluster
	}
	for i := range jobs {
		state.Submit(cluster.JobID(i), &jobs[i].JobSpec)
	}
	tx := state.Begin(nil)
	return slices.DeleteFunc(running, func(r sim.Running) bool { return tx.Place(r.Job, r.Placement) != nil })
}
