package cluster

import (
	"cmp"
	"slices"
	"time"
)

// Shadow tells when a job that cannot start now could: the shadow time of EASY backfilling (Lifka, JSSPP 1995). It keeps
// scratch space; the zero value is ready.
type Shadow struct{ ends []end }

type end struct {
	at    time.Duration
	milli int64
}

// Wait returns how long it takes until as many GPUs as the job asks for are free, whole or in shares and wherever, if running
// jobs end as estimated and nothing else starts; 0 where estimates do not tell.
func (h *Shadow) Wait(s *State, id JobID) time.Duration {
	spec := s.Spec(id)
	need, free := int64(spec.Workers)*int64(spec.Request.GPUMilli), s.FreeTotal()*WholeGPU
	h.ends = h.ends[:0]
	for _, r := range s.running {
		if s.Spec(r).Estimate > 0 {
			h.ends = append(h.ends, end{s.ExpectedFinish(r), s.Placement(r).GPUMilli()})
		}
	}
	slices.SortFunc(h.ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	wait := time.Duration(0)
	for i := 0; i < len(h.ends) && free < need; i++ {
		free += h.ends[i].milli
		wait = max(h.ends[i].at-s.now, 0)
	}
	if free < need {
		return 0
	}
	return wait
}
