package rollout

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// past is what has been seen so far: when which jobs came, and how long those that ended took. The zero value has seen nothing.
type past struct {
	began  bool
	first  time.Duration // of the decisions
	last   time.Duration // an arrival
	came   []arrival
	ratios []float64 // of jobs that ended: work over estimate
	works  map[kin][]time.Duration
	all    []time.Duration
}

// arrival is a job and how long after the one before it came.
type arrival struct {
	gap time.Duration
	job cluster.JobID
}

// kin is what jobs that take about as long have in common.
type kin struct {
	user, group string
	workers     int32
}

const (
	memory = 512 // arrivals and ends that are remembered
	least  = 20  // arrivals before any are expected
)

func kinOf(spec *cluster.JobSpec) kin { return kin{spec.User, spec.Group, spec.Workers} }

// note takes in what a scheduler is told. Jobs that wait when it first looks tell nothing of how jobs come.
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
		if spec.Estimate > 0 {
			p.ratios = remember(p.ratios, float64(work)/float64(spec.Estimate))
		}
		k := kinOf(spec)
		p.works[k] = remember(p.works[k], work)
		p.all = remember(p.all, work)
	}
}

// remember appends and forgets the oldest.
func remember[T any](list []T, v T) []T {
	if len(list) < memory {
		return append(list, v)
	}
	copy(list, list[1:])
	list[memory-1] = v
	return list
}
