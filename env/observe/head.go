package observe

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// head is the first job in order that cannot start now, and when it could. Starting a job that overstays that delays the
// head; whether it pays is for policies to learn.
type head struct {
	there   bool
	left    time.Duration // its estimated remaining time
	wait    time.Duration // until it could start by the shadow; 0 if estimates do not tell
	lacks   float32       // GPUs lacking now, of those it needs
	need    int64         // thousandths of GPUs
	shadow  cluster.Shadow
	workers int32
	host    cluster.ServerID // the first server that could hold all of it, -1 if it is free or estimates do not tell
	hole    time.Duration    // until it could
	second  time.Duration    // until the next could
}

// find looks at the running jobs. held is the first job that cannot start.
func (h *head) find(s *cluster.View, held cluster.JobID, o *outlook) {
	spec := s.Spec(held)
	h.there, h.workers = true, spec.Workers
	h.left, _ = s.Remaining(held)
	h.shadow.Look(s)
	h.need = spec.GPUMilli()
	h.lacks = float32(float64(max(h.need-h.shadow.Free(), 0)) / float64(h.need))
	if h.wait = h.shadow.Until(h.need); h.wait == cluster.Never {
		h.wait = 0
	}
	h.seek(s, held, o)
}

// delay is by how much later the head could start if a job took so many thousandths of GPUs from now until its end.
func (h *head) delay(milli int64, end time.Duration) time.Duration {
	if h.wait == 0 || end <= h.wait {
		return 0
	}
	return min(h.shadow.Until(h.need+milli), end) - h.wait
}

// seek finds the first server that could hold the head alone, and when the next could.
func (h *head) seek(s *cluster.View, held cluster.JobID, o *outlook) {
	h.host, h.hole, h.second = -1, cluster.Never, cluster.Never
	if h.workers > o.most {
		return
	}
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		if v := s.Server(id); v.GPUs < h.workers || !s.Open(id) || !s.MayUse(held, id) {
			continue
		}
		switch d := o.of(id)[h.workers-1]; {
		case d < h.hole:
			h.host, h.hole, h.second = id, d, h.hole
		default:
			h.second = min(h.second, d)
		}
	}
	if h.hole == cluster.Never {
		h.host = -1
	}
}
