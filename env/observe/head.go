package observe

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// head is the first job in order that cannot start now, and when it could. Starting a job that overstays that delays the
// head; whether it pays is for policies to learn.
type head struct {
	there   bool
	left    time.Duration // its estimated remaining time
	wait    time.Duration // until it could start, as cluster.Shadow tells; 0 if estimates do not tell
	lacks   float32       // GPUs lacking now, of those it needs
	need    int64         // thousandths of GPUs
	free    int64         // likewise, now
	ends    []release
	workers int32
	host    cluster.ServerID // the first server that could hold all of it, -1 if it is free or estimates do not tell
	hole    time.Duration    // until it could
	second  time.Duration    // until the next could
}

// release is the end of a running job and the thousandths of GPUs that are free from then on.
type release struct {
	at   time.Duration
	free int64
}

// find looks at the running jobs. held is the first job that cannot start.
func (h *head) find(s *cluster.State, held cluster.JobID, o *outlook) {
	spec := s.Spec(held)
	h.there, h.workers = true, spec.Workers
	h.left, _ = s.Remaining(held)
	h.need, h.free = int64(spec.Workers)*int64(spec.Request.GPUMilli), s.FreeTotal()*cluster.WholeGPU
	h.lacks = float32(float64(max(h.need-h.free, 0)) / float64(h.need))
	h.ends = h.ends[:0]
	for _, r := range s.Running() {
		if s.Spec(r).Estimate > 0 {
			h.ends = append(h.ends, release{max(s.ExpectedFinish(r)-s.Now(), 0), s.Placement(r).GPUMilli()})
		}
	}
	slices.SortFunc(h.ends, func(a, b release) int { return cmp.Compare(a.at, b.at) })
	free := h.free
	for i := range h.ends {
		free += h.ends[i].free
		h.ends[i].free = free
	}
	if h.wait = h.until(h.need); h.wait == never {
		h.wait = 0
	}
	h.seek(s, held, o)
}

// until is how long it takes until so many thousandths of GPUs are free.
func (h *head) until(need int64) time.Duration {
	if h.free >= need {
		return 0
	}
	at, _ := slices.BinarySearchFunc(h.ends, need, func(r release, need int64) int { return cmp.Compare(r.free, need) })
	if at == len(h.ends) {
		return never
	}
	return h.ends[at].at
}

// delay is by how much later the head could start if a job took so many thousandths of GPUs from now until its end.
func (h *head) delay(milli int64, end time.Duration) time.Duration {
	if h.wait == 0 || end <= h.wait {
		return 0
	}
	return min(h.until(h.need+milli), end) - h.wait
}

// seek finds the first server that could hold the head alone, and when the next could.
func (h *head) seek(s *cluster.State, held cluster.JobID, o *outlook) {
	h.host, h.hole, h.second = -1, never, never
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
	if h.hole == never {
		h.host = -1
	}
}
