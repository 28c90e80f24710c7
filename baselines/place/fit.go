package place

import (
	"github.com/clustergym/clustergym/env/cluster"
)

// fitter finds servers for gangs that hold other amounts than requested. It keeps scratch space; the zero value is ready.
type fitter struct {
	rooms []room
	fit   cluster.Placement // the last answer
}

// room is a server that takes workers of the job at hand.
type room struct {
	server cluster.ServerID
	fits   int32 // workers
	free   int32 // GPUs that nobody uses
	rank   int32 // of its GPU type
}

// find proposes where n workers could start, each holding the amount and a GPU that nobody else uses, on as few servers as it
// finds, by the rule of cluster.State.BestFit. The placement is valid until the next call.
func (f *fitter) find(s *cluster.State, id cluster.JobID, n int32, a cluster.Amount) (cluster.Placement, bool) {
	if int64(n) > s.FreeTotal() {
		return nil, false
	}
	if milli, ok := s.QuotaLeft(id); ok && int64(n)*int64(a.GPUMilli) > milli {
		return nil, false
	}
	f.rooms = f.rooms[:0]
	ranks, total := int32(0), int32(0)
	whole := a
	whole.GPUMilli = cluster.WholeGPU
	for i := range s.Servers() {
		server := cluster.ServerID(i)
		free := s.FreeGPUs(server)
		if free == 0 || !s.Open(server) {
			continue
		}
		if fits := s.Fits(server, id, whole); fits > 0 {
			r := room{server, fits, free, s.TypeRank(id, server)}
			f.rooms = append(f.rooms, r)
			ranks, total = max(ranks, r.rank+1), total+fits
		}
	}
	if total < n {
		return nil, false
	}
	for rank := range ranks {
		if f.gather(rank, n, a) {
			return f.fit, true
		}
	}
	return nil, false
}

// gather fills fit with servers of one type.
func (f *fitter) gather(rank, left int32, a cluster.Amount) bool {
	f.fit = f.fit[:0]
	for left > 0 {
		best := -1
		for i := range f.rooms {
			if r := &f.rooms[i]; r.rank == rank && r.fits > 0 && (best < 0 || r.before(&f.rooms[best], left)) {
				best = i
			}
		}
		if best < 0 {
			return false
		}
		r := &f.rooms[best]
		n := min(r.fits, left)
		f.fit = append(f.fit, cluster.Piece{Server: r.server, Workers: n, Amount: a})
		left, r.fits = left-n, 0
	}
	return true
}

// before reports whether the server is the better one for so many workers: one that takes them all rather than one that does
// not, of those that do the one with the fewest free GPUs, of the others that with the most.
func (r *room) before(o *room, left int32) bool {
	if all, other := r.fits >= left, o.fits >= left; all != other {
		return all
	} else if all {
		return r.free < o.free
	}
	return r.free > o.free
}
