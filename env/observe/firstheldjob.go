package observe

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// head is the first waiting job, by order, that cannot start now, and the prediction of when it can. A job that starts now and
// runs beyond that time delays the head; the policy learns whether that is worth it.
type head struct {
	there   bool
	left    time.Duration // its estimated remaining time
	wait    time.Duration // shadow time until it could start; 0 if the estimates do not predict it
	lacks   float32       // fraction of its GPUs that are not free now
	need    int64         // thousandths of GPUs that it requests
	shadow  cluster.Shadow
	workers int32
	host    cluster.ServerID // the server predicted to have room for the whole job first, -1 if none is
	hole    time.Duration    // time until the host could take it
	second  time.Duration    // time until the next server could take it
}

// find computes the prediction. held is the first job that cannot start.
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

// delay returns how much later the head could start if other jobs took the given thousandths of GPUs from now until end.
func (h *head) delay(milli int64, end time.Duration) time.Duration {
	if h.wait == 0 || end <= h.wait {
		return 0
	}
	return min(h.shadow.Until(h.need+milli), end) - h.wait
}

// seek finds the first server that could take the whole head, and when the next server could.
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
