package decide

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// waiter is a starving job that waits, and what it has to look forward to.
type waiter struct {
	id     cluster.JobID
	now    outlook
	known  bool // now is of the state as it is
	ends   []end
	free   []cluster.Total // by server, of those that will do; not used for others
	room   []int64         // workers that these take
	ofType [16]int64       // workers by type of GPU
}

type end struct {
	at  time.Duration
	job cluster.JobID
}

// outlook is when a job could start if running jobs end as estimated and nothing else starts.
type outlook struct {
	told  bool          // estimates tell
	wait  time.Duration // if so
	have  int64         // workers for which there is room now, wherever on the servers that will do
	apart bool          // that is enough, but shares of GPUs may be free apart
}

// worse reports whether the job starts later than by another outlook. Where estimates do not tell of either, it does if it has
// room for fewer workers: it gathers GPUs one by one. So it does while shares are free apart, of which any may be in the way.
func (o outlook) worse(than outlook) bool {
	switch {
	case o.told != than.told:
		return than.told
	case o.told:
		return o.wait > than.wait || than.apart && o.have < than.have
	}
	return o.have < than.have
}

// minds reports whether it could matter to the job that another one is placed so.
func (w *waiter) minds(s *cluster.View, other cluster.JobID, p cluster.Placement) bool {
	if s.Quota(w.id) >= 0 && s.Spec(other).Tenant == s.Spec(w.id).Tenant {
		return true
	}
	return slices.ContainsFunc(p, func(q cluster.Piece) bool { return s.MayUse(w.id, q.Server) })
}

// look finds the outlook on the servers that will do for the job, within its tenant's quota. It counts GPUs, CPU and memory,
// and shares of GPUs as if they were all on the same ones.
func (w *waiter) look(s *cluster.View) outlook {
	spec, least := s.Spec(w.id), int64(s.Spec(w.id).Least())
	w.clear(s)
	quota, limited := s.QuotaLeft(w.id)
	have := func() int64 {
		n := slices.Max(w.ofType[:])
		if spec.Mixed {
			n = 0
			for _, m := range w.ofType {
				n += m
			}
		}
		if limited {
			n = min(n, max(quota, 0)/int64(spec.Request.GPUMilli))
		}
		return n
	}
	out := outlook{have: have()}
	if out.have >= least {
		out.told, out.apart = true, spec.Request.GPUMilli < cluster.WholeGPU
		return out
	}
	for _, e := range w.ends {
		p := s.Placement(e.job)
		for i := range p {
			if id := p[i].Server; w.room[id] >= 0 {
				w.free[id].Add(p[i].Workers, p[i].Amount)
				w.count(s, id, spec)
			}
		}
		if limited && s.Spec(e.job).Tenant == spec.Tenant {
			quota += p.GPUMilli()
		}
		if have() >= least {
			out.told, out.wait = true, e.at
			return out
		}
	}
	return out
}

// clear starts from what is free now.
func (w *waiter) clear(s *cluster.View) {
	spec := s.Spec(w.id)
	w.ofType = [16]int64{}
	w.free = slices.Grow(w.free[:0], s.Servers())[:s.Servers()]
	w.room = slices.Grow(w.room[:0], s.Servers())[:s.Servers()]
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		if w.room[i] = -1; !s.Open(id) || !s.MayUse(w.id, id) {
			continue
		}
		w.room[i], w.free[i] = 0, cluster.Total{CPUMilli: s.FreeCPU(id), MemMiB: s.FreeMem(id)}
		if spec.Request.GPUMilli == cluster.WholeGPU {
			w.free[i].GPUMilli = int64(s.FreeGPUs(id)) * cluster.WholeGPU
		} else {
			for _, used := range s.GPUUse(id) {
				w.free[i].GPUMilli += cluster.WholeGPU - int64(used)
			}
		}
		w.count(s, id, spec)
	}
	w.ends = w.ends[:0]
	for _, job := range s.Running() {
		if left := s.Left(job); left != cluster.Never && w.minds(s, job, s.Placement(job)) {
			w.ends = append(w.ends, end{left, job})
		}
	}
	slices.SortFunc(w.ends, func(a, b end) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job, b.job)) })
}

// count counts anew what a server takes.
func (w *waiter) count(s *cluster.View, id cluster.ServerID, spec *cluster.JobSpec) {
	a, f := spec.Request, &w.free[id]
	n := f.GPUMilli / int64(a.GPUMilli)
	if a.CPUMilli > 0 {
		n = min(n, f.CPUMilli/int64(a.CPUMilli))
	}
	if a.MemMiB > 0 {
		n = min(n, f.MemMiB/int64(a.MemMiB))
	}
	n = max(n, 0)
	n -= n % int64(spec.Together())
	w.ofType[s.TypeOf(id)] += n - w.room[id]
	w.room[id] = n
}
