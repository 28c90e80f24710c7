package rollout

import (
	"math/rand/v2"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// row is the number of consecutive jobs that are drawn together, so that bursts of arrivals stay together.
const row = 8

// draw returns one future, as seen from the state: the work of every present job, and the jobs that arrive within the time
// ahead.
func (p *past) draw(s *cluster.View, ahead time.Duration, random *rand.Rand) sim.Rest {
	works := make([]time.Duration, s.Jobs())
	for _, ids := range [][]cluster.JobID{s.Running(), s.Pending()} {
		for _, id := range ids {
			works[id] = p.work(s, id, random)
		}
	}
	return sim.Rest{
		Work:   func(id cluster.JobID) time.Duration { return works[id] },
		Future: p.arrivals(s, s.Now()+ahead, random),
	}
}

// work draws the total work of a present job, more than it has done: its estimate times an error seen before, or, without an
// estimate, the work of a similar job.
func (p *past) work(s *cluster.View, id cluster.JobID, random *rand.Rand) time.Duration {
	spec, done := s.Spec(id), s.Progress(id)
	if estimate := s.Estimate(id); estimate > 0 {
		if work, ok := p.scaled(estimate, done, random); ok {
			return work
		}
		return beyond(done)
	}
	for _, seen := range [][]time.Duration{p.works[kinOf(spec)], p.all} {
		if work, ok := longer(seen, done, random); ok {
			return work
		}
	}
	return beyond(done)
}

// scaled draws an error among those with which the job is still unfinished. If no errors have been seen, it takes the estimate
// as exact.
func (p *past) scaled(estimate, done time.Duration, random *rand.Rand) (time.Duration, bool) {
	if len(p.ratios) == 0 {
		return estimate, estimate > done
	}
	from := random.IntN(len(p.ratios))
	for i := range p.ratios {
		work := time.Duration(float64(estimate)*p.ratios[(from+i)%len(p.ratios)] + 0.5)
		if work > done {
			return work, true
		}
	}
	return 0, false
}

// longer draws among the seen works that are longer than what the job has done.
func longer(seen []time.Duration, done time.Duration, random *rand.Rand) (time.Duration, bool) {
	if len(seen) == 0 {
		return 0, false
	}
	from := random.IntN(len(seen))
	for i := range seen {
		if work := seen[(from+i)%len(seen)]; work > done {
			return work, true
		}
	}
	return 0, false
}

// beyond guesses the work of a job that has done more than all seen before.
func beyond(done time.Duration) time.Duration { return done + max(done/4, time.Minute) }

// arrivals draws blocks of past jobs with the times between their arrivals.
func (p *past) arrivals(s *cluster.View, until time.Duration, random *rand.Rand) []trace.Job {
	if len(p.came) < least {
		return nil
	}
	var jobs []trace.Job
	for at := s.Now(); ; {
		from := random.IntN(len(p.came))
		for i := range min(row, len(p.came)) {
			a := p.came[(from+i)%len(p.came)]
			if at += a.gap; at > until || len(jobs) == memory {
				return jobs
			}
			j := trace.Job{JobSpec: *s.Spec(a.job)}
			j.Submit = at
			if s.Phase(a.job) == cluster.Done {
				j.Work = s.Progress(a.job)
			} else {
				j.Work = p.work(s, a.job, random)
			}
			jobs = append(jobs, j)
		}
	}
}
