package decide

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// waiter is a starving job that waits, with what decides when it could start.
type waiter struct {
	id     cluster.JobID
	now    outlook
	known  bool // now is up to date
	ends   []end
	free   []cluster.Total // resources by server, of the servers that the job may use
	room   []int64         // workers that fit on each server
	ofType [16]int64       // workers that fit, by GPU type
}

type end struct {
	at  time.Duration
	job cluster.JobID
}

// outlook is when a job could start if running jobs end as estimated and nothing else starts.
type outlook struct {
	told  bool          // whether the estimates are enough to compute wait
	wait  time.Duration // time until the job could start, if told
	have  int64         // workers that fit now on all servers that the job may use
	apart bool          // have is enough, but the job asks for GPU shares, which may be free on different GPUs
}

// worse reports whether the job would start later than with the other outlook. If neither outlook has an estimated time, the one
// with room for fewer workers is worse, because the job gathers GPUs one by one. The same holds while free GPU shares may be on
// different GPUs, since any placement may then take a share that the job needs.
func (o outlook) worse(than outlook) bool {
	switch {
	case o.told != than.told:
		return than.told
	case o.told:
		return o.wait > than.wait || than.apart && o.have < than.have
	}
	return o.have < than.have
}

// minds reports whether the job's start may depend on the placement p of another job.
func (w *waiter) minds(s *cluster.View, other cluster.JobID, p cluster.Placement) bool {
	if s.Quota(w.id) >= 0 && s.Spec(other).Tenant == s.Spec(w.id).Tenant {
		return true
	}
	return slices.ContainsFunc(p, func(q cluster.Piece) bool { return s.MayUse(w.id, q.Server) })
}

// look returns the outlook on the servers that the job may use, within its tenant's quota. It counts GPUs, CPU and memory, and
// adds up GPU shares as if they were on the same GPUs.
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

// clear sets free, room and ofType to what is free now, and ends to the estimated ends of the running jobs.
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

// count computes again how many workers fit on a server.
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
