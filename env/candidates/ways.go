package candidates

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// aligned returns a placement on another server for a job that needs only one server: of the servers in use that fit the job, the
// one whose jobs are expected to end closest to the job's own end, so that the GPUs of a server become free together.
func (w *walk) aligned(tx *cluster.Txn, base *start) (cluster.Placement, bool) {
	s := tx.View()
	left, known := s.Remaining(base.job)
	if !known || len(base.at) != 1 || !base.own {
		return nil, false
	}
	ends := s.Now() + left
	n, whole := base.at.Workers(), base.at[0].Amount
	whole.GPUMilli = cluster.WholeGPU
	best, least := cluster.ServerID(-1), cluster.Never
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		if len(s.Residents(id)) == 0 || s.FreeGPUs(id) < n || s.Fits(id, base.job, whole) < n {
			continue
		}
		last := time.Duration(0)
		for _, other := range s.Residents(id) {
			last = max(last, s.ExpectedFinish(other))
		}
		if d := max(last-ends, ends-last); d < least {
			best, least = id, d
		}
	}
	if best < 0 || best == base.at[0].Server {
		return nil, false
	}
	at := w.memory.placement(base.at)
	at[0].Server = best
	if at[0].GPUMilli < cluster.WholeGPU {
		placement.Alone(s, at)
	}
	return at, true
}

// alone returns a placement of n workers on GPUs that no job uses. Other jobs may share these GPUs later.
func (w *walk) alone(s *cluster.View, id cluster.JobID, n int32, a cluster.Amount) (cluster.Placement, bool) {
	at, fits := w.memory.alone(s, id, n, a)
	placement.Alone(s, at)
	return at, fits
}

// pairing is a placement on the GPUs of a host, that is a running job that holds only a share of them, with the resulting speeds.
type pairing struct {
	start
	sum   float64       // the speed of the job plus the host's speed relative to its speed before
	lasts time.Duration // when the host is expected to end
}

const hosts = 48 // maximum number of hosts that are tried for one job

// beside returns placements that start the job on GPUs of which a host holds a share: the one with the largest sum of speeds and,
// if its host ends before the job, the one with the largest sum among hosts that outlast the job. The result is valid until the
// next call.
func (w *walk) beside(tx *cluster.Txn, id cluster.JobID, a cluster.Amount) []pairing {
	s := tx.View()
	if s.Spec(id).Request.GPUMilli < cluster.WholeGPU {
		return nil
	}
	w.ids = append(w.ids[:0], s.Running()...)
	slices.Sort(w.ids)
	all := w.pairings[:0]
	for _, h := range w.ids {
		if len(all) == hosts {
			break
		}
		if at, ok := w.join(s, id, h, a); ok {
			if p, ok := pair(tx, id, h, at); ok {
				all = append(all, p)
			}
		}
	}
	w.pairings = all
	slices.SortStableFunc(all, func(a, b pairing) int { return cmp.Compare(b.sum, a.sum) })
	if len(all) == 0 {
		return nil
	}
	found := 1
	if left, known := s.Remaining(id); known && all[0].lasts < s.Now()+left {
		if i := slices.IndexFunc(all, func(p pairing) bool { return p.lasts >= s.Now()+left }); i >= 0 {
			all[1] = all[i]
			found = 2
		}
	}
	return all[:found]
}

// pair tries a placement on the GPUs of a host.
func pair(tx *cluster.Txn, id, h cluster.JobID, at cluster.Placement) (pairing, bool) {
	s := tx.View()
	profile := placement.Profile(s)
	before, mark := profile.Speed(s, h), tx.Mark()
	defer tx.Rollback(mark)
	if !tx.Try(&cluster.Proposal{Kind: cluster.OpPlace, Job: id, Placement: at}) {
		return pairing{}, false
	}
	sum := profile.Speed(s, id) + profile.Speed(s, h)/before
	return pairing{start{id, at, false}, sum, s.ExpectedFinish(h)}, true
}

// join returns a placement of all workers of the job on GPUs of the host that no other job shares. Each worker gets the share
// that the host leaves.
func (w *walk) join(s *cluster.View, id, h cluster.JobID, a cluster.Amount) (cluster.Placement, bool) {
	m, from := &w.memory, len(w.memory.pieces)
	left, pieces := s.Spec(id).Workers, s.Placement(h)
	if pieces.Workers() < left {
		return nil, false
	}
	for _, q := range pieces {
		if q.GPUMilli == cluster.WholeGPU {
			continue
		}
		room := int32(0)
		use := s.GPUUse(q.Server)
		for _, g := range s.GPUsOn(h, q.Server) {
			if int32(use[g]) == q.GPUMilli {
				room++
			}
		}
		a.GPUMilli = cluster.WholeGPU - q.GPUMilli
		n := min(room, left, s.Fits(q.Server, id, a))
		if n -= n % s.Spec(id).Together(); n <= 0 {
			continue
		}
		m.pieces = append(m.pieces, cluster.Piece{Server: q.Server, Workers: n, Amount: a})
		if left -= n; left == 0 {
			return m.placed(from), true
		}
	}
	m.pieces = m.pieces[:from]
	return nil, false
}
