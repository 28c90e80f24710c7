package rollout

import (
	"math/rand/v2"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// row is how many jobs in a row are drawn together, so that bursts stay bursts.
const row = 8

// draw returns one future as seen from the state: the work of every job that is there, and the jobs that come until ahead.
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

// work draws what a job that is there turns out to take, more than it has done: its estimate times an error that was seen, or,
// without an estimate, what one of its kin took.
func (p *past) work(s *cluster.View, id cluster.JobID, random *rand.Rand) time.Duration {
	spec, done := s.Spec(id), s.Progress(id)
	if spec.Estimate > 0 {
		if work, ok := p.scaled(spec.Estimate, done, random); ok {
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

// scaled draws an error from those under which the job still runs; without any that was seen, the estimate is right.
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

// longer draws from those that took longer than the job has run.
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

// beyond is the guess for a job that outlives all that was seen.
func beyond(done time.Duration) time.Duration { return done + max(done/4, time.Minute) }

// arrivals draws jobs, as they came, with the time between them, from the past in blocks.
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
