package rollout

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// past is what the scheduler has seen so far: which jobs came when, and how long the jobs took that ended. The zero value has
// seen nothing.
type past struct {
	began  bool
	first  time.Duration // time of the first decision
	last   time.Duration // time of the last arrival
	came   []arrival
	ratios []float64 // work / estimate of jobs that ended
	works  map[kin][]time.Duration
	all    []time.Duration
}

// arrival is a job, and the time since the arrival before it.
type arrival struct {
	gap time.Duration
	job cluster.JobID
}

// kin is what similar jobs, which take about as long, have in common.
type kin struct {
	user, group string
	workers     int32
}

const (
	memory = 512 // number of arrivals and ends that are remembered
	least  = 20  // with fewer arrivals, a future has none
)

func kinOf(spec *cluster.JobSpec) kin { return kin{spec.User, spec.Group, spec.Workers} }

// note learns from an event. It ignores jobs that are already waiting when the scheduler first looks, because they do not show
// how jobs arrive.
func (p *past) note(s *cluster.View, e cluster.Event) {
	if !p.began {
		p.began, p.first, p.last, p.works = true, s.Now(), s.Now(), map[kin][]time.Duration{}
	}
	switch e.Kind {
	case cluster.Arrived:
		if s.Now() == p.first {
			return
		}
		p.came = remember(p.came, arrival{s.Now() - p.last, e.Job})
		p.last = s.Now()
	case cluster.Finished:
		work, spec := s.Progress(e.Job), s.Spec(e.Job)
		if estimate := s.Estimate(e.Job); estimate > 0 {
			p.ratios = remember(p.ratios, float64(work)/float64(estimate))
		}
		k := kinOf(spec)
		p.works[k] = remember(p.works[k], work)
		p.all = remember(p.all, work)
	}
}

// remember appends v and drops the oldest element if the list is full.
func remember[T any](list []T, v T) []T {
	if len(list) < memory {
		return append(list, v)
	}
	copy(list, list[1:])
	list[memory-1] = v
	return list
}
