package cluster

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Never is when something comes about that estimates do not foresee, and how long it takes until then.
const Never = time.Duration(math.MaxInt64)

// Left is how long a running job still runs if it ends as estimated and keeps its present rate: 0 for one that outlives its
// estimate, and Never for one without.
func (s *View) Left(id JobID) time.Duration {
	at := s.ExpectedFinish(id)
	if s.Spec(id).Estimate == 0 || at == Never {
		return Never
	}
	return max(at-s.now, 0)
}

// AppendFree appends to dst how long it takes until each GPU of a server is free, in ascending order, if running jobs end as Left
// says and nothing else starts. A shared GPU is free when the last of its jobs ends; one that is out of order never is.
func (s *View) AppendFree(dst []time.Duration, id ServerID) []time.Duration {
	from := len(dst)
	for g := range s.Server(id).GPUs {
		left := time.Duration(0)
		if s.Failed(id, g) {
			left = Never
		}
		dst = append(dst, left)
	}
	gpus := dst[from:]
	for _, job := range s.Residents(id) {
		left := s.Left(job)
		for _, g := range s.GPUsOn(job, id) {
			gpus[g] = max(gpus[g], left)
		}
	}
	slices.Sort(gpus)
	return dst
}

// Shadow foresees when so many GPUs are free, whole or in shares and on whatever servers: the shadow time of EASY backfilling
// (Lifka, JSSPP 1995). It keeps its memory from one Look to the next; the zero value is ready for the first.
type Shadow struct {
	free int64 // thousandths of GPUs, now
	ends []release
}

// release is the end of a running job and the thousandths of GPUs that are free from then on.
type release struct {
	left time.Duration
	free int64
}

// Look reads the running jobs. It has to be called again when the state has changed.
func (h *Shadow) Look(s *View) {
	h.free, h.ends = s.FreeTotal()*WholeGPU, h.ends[:0]
	for _, id := range s.running {
		if left := s.Left(id); left != Never {
			h.ends = append(h.ends, release{left, s.Placement(id).GPUMilli()})
		}
	}
	slices.SortFunc(h.ends, func(a, b release) int { return cmp.Compare(a.left, b.left) })
	free := h.free
	for i := range h.ends {
		free += h.ends[i].free
		h.ends[i].free = free
	}
}

// Free returns the thousandths of GPUs that are free now.
func (h *Shadow) Free() int64 { return h.free }

// Until is how long it takes until so many thousandths of GPUs are free; Never where estimates do not tell.
func (h *Shadow) Until(milli int64) time.Duration {
	if h.free >= milli {
		return 0
	}
	at, _ := slices.BinarySearchFunc(h.ends, milli, func(r release, milli int64) int { return cmp.Compare(r.free, milli) })
	if at == len(h.ends) {
		return Never
	}
	return h.ends[at].left
}
