package placement

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// firstFit starts jobs as requested on the servers with the lowest ids that have room, and fills each server before the next. A
// scheduler that ignores both consolidation and fragmentation does the same. A gang that must run on one GPU type takes the type
// of the first server with room whose type can hold the whole gang.
type firstFit struct{ filling }

// NewFirstFit returns a placer that prefers the servers with the lowest ids.
func NewFirstFit() Placer { return &firstFit{} }

// Reset implements Placer.
func (*firstFit) Reset(uint64) {}

// Kind implements Placer.
func (*firstFit) Kind(s *cluster.View, id cluster.JobID) Kind { return Plain(s, id) }

// Place implements Placer.
func (f *firstFit) Place(tx *cluster.Txn, id cluster.JobID) (bool, error) {
	if !f.open(tx.View(), id) {
		return false, nil
	}
	return true, tx.Place(id, f.fill(tx.View(), id))
}

// filling puts a gang on servers in some order, each filled before the next.
type filling struct {
	room  []int32            // workers that each server takes
	order []cluster.ServerID // servers with room, by id until the caller reorders them
	fit   cluster.Placement
}

// open finds the servers that have room for workers of the job, and reports whether the whole gang fits.
func (f *filling) open(s *cluster.View, id cluster.JobID) bool {
	spec := s.Spec(id)
	if spec.Request.GPUMilli == cluster.WholeGPU && int64(spec.Workers) > s.FreeTotal() {
		return false
	}
	f.room = slices.Grow(f.room[:0], s.Servers())[:s.Servers()]
	if s.Room(id, spec.Request, f.room) < int64(spec.Workers) {
		return false
	}
	f.order = f.order[:0]
	for i, n := range f.room {
		if n > 0 {
			f.order = append(f.order, cluster.ServerID(i))
		}
	}
	return true
}

// fill places the gang on the servers in order. Every GPU type with room can hold the whole gang, because open has called
// View.Room.
func (f *filling) fill(s *cluster.View, id cluster.JobID) cluster.Placement {
	f.fit = f.fit[:0]
	spec := s.Spec(id)
	left := spec.Workers
	for _, server := range f.order {
		if left == 0 {
			break
		}
		if len(f.fit) > 0 && !s.SameType(id, f.fit[0].Server, server) {
			continue
		}
		n := min(f.room[server], left)
		f.fit = append(f.fit, cluster.Piece{Server: server, Workers: n, Amount: spec.Request})
		left -= n
	}
	return f.fit
}
