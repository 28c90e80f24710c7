package cluster

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Never is the time of an event that, by the estimates, does not happen; as a duration, it means that the event never comes.
const Never = time.Duration(math.MaxInt64)

// Left returns how much longer a running job runs if Remaining is right and the job's present rate does not change. It is Never
// if nothing is known about the job.
func (s *View) Left(id JobID) time.Duration {
	at := s.ExpectedFinish(id)
	if !s.Knows(id) || at == Never {
		return Never
	}
	return max(at-s.now, 0)
}

// AppendFree appends to dst, for each GPU of a server, the time until it is free, in ascending order. It assumes that running
// jobs end as Left predicts and that no other job starts. A shared GPU is free when the last of its jobs ends. A failed GPU is
// never free.
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

// Shadow predicts when a given number of GPUs will be free, on any servers, whole or in shares. This is the shadow time of EASY
// backfilling (Lifka, JSSPP 1995). It reuses its memory from one Look to the next; the zero value is ready for the first Look.
type Shadow struct {
	free int64 // thousandths of GPUs, now
	ends []release
}

// release is the end of a running job, and the total of free thousandths of GPUs from then on.
type release struct {
	left time.Duration
	free int64
}

// Look reads the running jobs. Call it again after the state has changed.
func (h *Shadow) Look(s *View) { h.LookOn(s, nil, s.Left) }

// LookOn is Look for the GPUs of a set of servers alone, nil for all servers, and with other predictions: left returns how much
// longer a running job runs, or Never.
func (h *Shadow) LookOn(s *View, where *ServerSet, left func(JobID) time.Duration) {
	h.free, h.ends = s.freeOn(where)*WholeGPU, h.ends[:0]
	for _, id := range s.running {
		if left := left(id); left != Never {
			h.ends = append(h.ends, release{left, s.Placement(id).GPUMilliOn(where)})
		}
	}
	slices.SortFunc(h.ends, func(a, b release) int { return cmp.Compare(a.left, b.left) })
	free := h.free
	for i := range h.ends {
		free += h.ends[i].free
		h.ends[i].free = free
	}
}

// freeOn returns the number of GPUs that no job uses, on those servers of a set that are open to training jobs.
func (s *View) freeOn(where *ServerSet) (free int64) {
	if where == nil {
		return s.FreeTotal()
	}
	for id := range ServerID(s.Servers()) { // the set may have numbers that the cluster has no servers for
		if where.Has(id) && s.Open(id) {
			free += int64(s.FreeGPUs(id))
		}
	}
	return free
}

// Free returns the thousandths of GPUs that are free now.
func (h *Shadow) Free() int64 { return h.free }

// FreeIn returns the thousandths of GPUs that are free after the given time.
func (h *Shadow) FreeIn(d time.Duration) int64 {
	free := h.free
	for _, r := range h.ends {
		if r.left > d {
			break
		}
		free = r.free
	}
	return free
}

// Until returns the time until the given thousandths of GPUs are free, or Never if the estimates do not predict it.
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
