package env

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// head is the first job in order that cannot start now, and when it could: the instant at which enough GPUs will be free if
// running jobs end as estimated and nothing else starts (the shadow time of EASY backfilling, Lifka, 1995). Starting a job
// that overstays it delays the head; whether that pays is for policies to learn.
type head struct {
	there  bool
	left   time.Duration // its estimated remaining time
	wait   time.Duration // until it could start; 0 if estimates do not tell
	lacks  float32       // GPUs lacking now, of those it needs
	ending []ending      // scratch
}

type ending struct {
	at   time.Duration
	gpus float64
}

// find looks at the running jobs. held is the first job that cannot start.
func (h *head) find(s *cluster.State, held cluster.JobID) {
	h.there, h.wait = true, 0
	h.left, _ = s.Remaining(held)
	need := s.Spec(held).GPUs()
	free := float64(s.FreeTotal())
	h.lacks = float32(max(need-free, 0) / need)
	h.ending = h.ending[:0]
	for _, id := range s.Running() {
		if s.Spec(id).Estimate > 0 {
			h.ending = append(h.ending, ending{s.ExpectedFinish(id), s.Placement(id).GPUs()})
		}
	}
	slices.SortFunc(h.ending, func(a, b ending) int { return cmp.Compare(a.at, b.at) })
	for i := 0; i < len(h.ending) && free < need; i++ {
		free += h.ending[i].gpus
		h.wait = max(h.ending[i].at-s.Now(), 0)
	}
}

// against compares a duration with another: tanh of the log of their ratio, about 0.9 at a factor of 5.
func against(d, other time.Duration) float32 {
	return tanh((logTime(d) - logTime(other)) * logTimeSpan)
}
