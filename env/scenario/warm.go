package scenario

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// warmUp plays the jobs in order of submission, whoever does not fit being passed over, and, where windows say so, gangs waiting
// for as few servers as they need. It returns what is left of them after a time: each with the work that remains, as if submitted
// at 0, and where those run that run. Nothing fails and nothing is borrowed in the meantime, so that it is the same under every
// seed.
//
// An estimate shrinks by the work that was done, to a second at least: that much a scheduler that watched would know.
func (s *Source) warmUp(jobs []trace.Job, until time.Duration) ([]trace.Job, []sim.Running, error) {
	if until == 0 { // all arrive with the window
		for i := range jobs {
			jobs[i].Submit = 0
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
	return s.remains(&past.State().View, jobs)
}

// remains turns a state into the beginning of an episode.
func (s *Source) remains(state *cluster.View, jobs []trace.Job) ([]trace.Job, []sim.Running, error) {
	var left []trace.Job
	var running []sim.Running
	for i := range jobs {
		id := cluster.JobID(i)
		if state.Phase(id) == cluster.Done {
			continue
		}
		j := jobs[i]
		j.Submit = 0
		if state.Phase(id) == cluster.Running {
			done := state.Progress(id)
			j.Work = max(j.Work-done, 1)
			if j.Estimate > 0 {
				j.Estimate = max(j.Estimate-done, time.Second)
			}
			where := slices.Clone(state.Placement(id))
			running = append(running, sim.Running{Job: cluster.JobID(len(left)), Placement: where})
		}
		left = append(left, j)
	}
	return left, s.placeable(left, running), nil
}

// placeable keeps the placements that can be taken in the order in which they stand, the largest shares of a GPU first: shares
// that came and went may lie as no order of arrival would put them. A job that loses its place so waits.
func (s *Source) placeable(jobs []trace.Job, running []sim.Running) []sim.Running {
	slices.SortStableFunc(running, func(a, b sim.Running) int {
		return cmp.Compare(b.Placement[0].GPUMilli, a.Placement[0].GPUMilli)
	})
	state, err := cluster.NewState(s.config.Cluster, len(jobs))
	if err != nil {
		panic("scenario: " + err.Error()) // the simulator took it
	}
	for i := range jobs {
		state.Submit(cluster.JobID(i), &jobs[i].JobSpec)
	}
	tx := state.Begin(nil)
	return slices.DeleteFunc(running, func(r sim.Running) bool { return tx.Place(r.Job, r.Placement) != nil })
}
