package env

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// head is the first job in order that cannot start now, and when it could. Starting a job that overstays that delays the head;
// whether it pays is for policies to learn.
type head struct {
	there  bool
	left   time.Duration // its estimated remaining time
	wait   time.Duration // until it could start; 0 if estimates do not tell
	lacks  float32       // GPUs lacking now, of those it needs
	shadow cluster.Shadow
}

// find looks at the running jobs. held is the first job that cannot start.
func (h *head) find(s *cluster.State, held cluster.JobID) {
	h.there = true
	h.left, _ = s.Remaining(held)
	h.wait = h.shadow.Wait(s, held)
	need := s.Spec(held).GPUs()
	h.lacks = float32(max(need-float64(s.FreeTotal()), 0) / need)
}

// against compares a duration with another: tanh of the log of their ratio, about 0.9 at a factor of 5.
func against(d, other time.Duration) float32 {
	return tanh((logTime(d) - logTime(other)) * logTimeSpan)
}
