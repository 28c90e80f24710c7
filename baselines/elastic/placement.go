package elastic

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// anyType stands for GPUs of all types together.
const anyType = -1

// gang proposes a placement of the waiting job with n workers. It tries the GPU types one by one, in the order that suits the
// job, first keeping base and flexible workers on separate servers and then without that. A job that may mix types does so if no
// single type can hold it. The placement is valid until the next call.
func (l *layout) gang(s *cluster.View, id cluster.JobID, n int32) (cluster.Placement, bool) {
	spec := s.Spec(id)
	if spec.Request.GPUMilli == cluster.WholeGPU && int64(n) > s.FreeTotal() {
		return nil, false
	}
	if milli, limited := s.QuotaLeft(id); limited && milli < int64(n)*int64(spec.Request.GPUMilli) {
		return nil, false
	}
	p, order := l.wants(spec), l.types.training
	if p == base {
		order = l.types.loan
	}
	l.collect(s, id, p)
	for _, apart := range [...]bool{true, false} {
		for _, gpu := range order {
			if l.fill(s, id, n, gpu, apart) == n {
				return l.fit, true
			}
		}
		if l.types.mixes(spec) && l.fill(s, id, n, anyType, apart) == n {
			return l.fit, true
		}
	}
	return nil, false
}

// fill writes up to n more workers of a job into fit, on the listed servers with GPUs of the type, and returns how many fit.
func (l *layout) fill(s *cluster.View, id cluster.JobID, n int32, gpu int8, apart bool) int32 {
	l.heap = l.heap[:0]
	for _, c := range l.list {
		if (gpu == anyType || c.gpu == gpu) && !(apart && c.mixes) {
			l.heap = append(l.heap, c)
		}
	}
	l.fit = l.fit[:0]
	left := n
	if l.cfg.Gather {
		l.gather(s, id, &left)
		return n - left
	}
	order := heapify(l.heap, (*spot).before)
	for left > 0 && order.len() > 0 {
		c := order.pop()
		l.add(s, id, c.server, l.more(s, id, c.server), &left)
	}
	return n - left
}

func (l *layout) add(s *cluster.View, id cluster.JobID, v cluster.ServerID, fits int32, left *int32) {
	if n := min(fits, *left); n > 0 {
		l.fit = append(l.fit, cluster.Piece{Server: v, Workers: n, Amount: s.Spec(id).Request})
		*left -= n
	}
}

// gather repeatedly takes the first spot that can hold all workers left, or if there is none, the spot that can hold most.
// Servers on which the job already runs come first.
func (l *layout) gather(s *cluster.View, id cluster.JobID, left *int32) {
	l.rooms = l.rooms[:0]
	for i := range l.heap {
		c := &l.heap[i]
		if n := l.more(s, id, c.server); n > 0 {
			l.rooms = append(l.rooms, room{*c, pieceOn(s.Placement(id), c.server) >= 0, n})
		}
	}
	for *left > 0 && len(l.rooms) > 0 {
		best := 0
		for i := range l.rooms {
			if l.rooms[i].beats(&l.rooms[best], *left) {
				best = i
			}
		}
		last := len(l.rooms) - 1
		l.add(s, id, l.rooms[best].server, l.rooms[best].fits, left)
		l.rooms[best] = l.rooms[last]
		l.rooms = l.rooms[:last]
	}
}

// room is a spot with the number of workers of a job that fit on it.
type room struct {
	spot
	own  bool // the job already runs there
	fits int32
}

func (o *room) beats(p *room, left int32) bool {
	all, others := o.fits >= left, p.fits >= left
	switch {
	case o.own != p.own:
		return o.own
	case all != others:
		return all
	case !all && o.fits != p.fits:
		return o.fits > p.fits
	}
	return o.before(&p.spot)
}

// more returns how many workers of a job a server can take, besides those that it may already have, each on a GPU of its own.
func (l *layout) more(s *cluster.View, id cluster.JobID, v cluster.ServerID) int32 {
	amount := s.Spec(id).Request
	if i := pieceOn(s.Placement(id), v); i >= 0 {
		amount = s.Placement(id)[i].Amount
	}
	n := s.Fits(v, id, amount)
	if amount.GPUMilli == cluster.WholeGPU || n == 0 {
		return n
	}
	for _, g := range s.GPUsOn(id, v) { // Fits counts these GPUs, but a job uses each only once
		if int32(s.GPUUse(v)[g])+amount.GPUMilli <= cluster.WholeGPU {
			n--
		}
	}
	return max(n, 0)
}

// pieceOn returns the index of the piece on a server, or -1.
func pieceOn(p cluster.Placement, v cluster.ServerID) int {
	return slices.IndexFunc(p, func(q cluster.Piece) bool { return q.Server == v })
}

// with proposes a running job's placement with up to n more workers, and returns how many it adds. The placement is valid until
// the next call.
func (l *layout) with(s *cluster.View, id cluster.JobID, n int32) (p cluster.Placement, more int32) {
	spec, now := s.Spec(id), s.Placement(id)
	if milli, limited := s.QuotaLeft(id); limited {
		each := spec.Request.GPUMilli // of a worker on a new server; elsewhere as much as the job's workers hold there
		for i := range now {
			each = max(each, now[i].GPUMilli)
		}
		n = int32(min(int64(n), max(milli, 0)/int64(each)))
	}
	l.collect(s, id, flexible)
	gpu := l.types.of[now[0].Server]
	if spec.Mixed {
		gpu = anyType
	}
	if n <= 0 || len(l.list) == 0 {
		return nil, 0
	}
	if more = l.fill(s, id, n, gpu, true); more < n {
		more = l.fill(s, id, n, gpu, false)
	}
	l.grown = append(l.grown[:0], now...)
	for _, piece := range l.fit {
		if i := pieceOn(now, piece.Server); i >= 0 {
			l.grown[i].Workers += piece.Workers
		} else {
			l.grown = append(l.grown, piece)
		}
	}
	return l.grown, more
}

// without proposes a running job's placement with n fewer flexible workers. It removes workers first from servers on loan
// without base workers, then from other servers on loan, then from the smallest pieces, and among equal ones from the last. The
// placement is valid until the next call.
func (l *layout) without(s *cluster.View, id cluster.JobID, n int32) cluster.Placement {
	l.grown = append(l.grown[:0], s.Placement(id)...)
	p := l.grown
	for n > 0 {
		best, bestRank, bestSpare := -1, 0, int32(0)
		left := s.Spec(id).Least() // base workers not yet counted
		for i := range p {
			spare := p[i].Workers - min(left, p[i].Workers)
			left -= p[i].Workers - spare
			if spare == 0 {
				continue
			}
			rank := 2
			if v := p[i].Server; !l.cfg.Special {
				rank = 0
			} else if s.OnLoan(v) {
				rank = int(min(l.based[v], 1))
			}
			if best < 0 || rank < bestRank || rank == bestRank && spare <= bestSpare {
				best, bestRank, bestSpare = i, rank, spare
			}
		}
		take := min(n, bestSpare)
		p[best].Workers -= take
		n -= take
	}
	return slices.DeleteFunc(p, func(q cluster.Piece) bool { return q.Workers == 0 })
}
