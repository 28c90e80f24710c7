package candidates

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// reservation reserves servers (its block) for a gang that does not fit yet.
type reservation struct {
	gang  cluster.JobID
	block []bool        // by server; never changed once a guard keeps the reservation
	free  time.Duration // when the block is expected to be free
	until time.Duration // when the reservation ends at the latest
	// servers is the maximum number of servers over which the gang may be spread, 0 for any number. If it is set, the gang waits
	// for the block although it would fit now on more servers.
	servers int
}

// obstructs reports whether a start of another job would occupy the block after the time at which the block is expected to be
// free.
func (r *reservation) obstructs(s *cluster.View, st *start) bool {
	if st.job == r.gang || !slices.ContainsFunc(st.at, func(p cluster.Piece) bool { return r.block[p.Server] }) {
		return false
	}
	return !s.Knows(st.job) || s.Phase(st.job) != cluster.Running || s.ExpectedFinish(st.job) > r.free
}

// alike reports whether two reservations are of the same servers for the same gang.
func alike(a, b reservation) bool { return a.gang == b.gang && slices.Equal(a.block, b.block) }

// conflicts reports whether two reservations are for the same gang or have a server in common.
func (r *reservation) conflicts(o *reservation) bool {
	for i, held := range r.block {
		if held && o.block[i] {
			return true
		}
	}
	return r.gang == o.gang
}

// scatters reports whether a start is the gang's and uses more servers than the reservation allows.
func (r *reservation) scatters(st *start) bool {
	return st.job == r.gang && r.servers > 0 && len(st.at) > r.servers
}

// fewest returns the least number of servers on which the workers of a start could fit.
func fewest(s *cluster.View, st *start) int {
	most := s.MostGPUs()
	return int((st.at.Workers() + most - 1) / most)
}

// outlook predicts when servers will have GPUs free. It caches predictions until renew, and is valid while the state does not
// change.
type outlook struct {
	gpus    []time.Duration // time until each GPU is free, ascending within a server; the servers one after the other
	first   []int           // by server: the index in gpus of its first GPU
	known   []bool          // by number of GPUs: whether soonest is computed for it
	soonest [][]freed       // by number of GPUs: the servers that will have so many GPUs free, the soonest first
	chosen  []cluster.ServerID
}

// freed is a server and the time until it has the required number of GPUs free.
type freed struct {
	left   time.Duration
	server cluster.ServerID
}

// renew discards the cached predictions.
func (o *outlook) renew() {
	clear(o.known)
	o.gpus, o.first = o.gpus[:0], o.first[:0]
}

// with returns the servers that will have the number need of GPUs free, the soonest first.
func (o *outlook) with(s *cluster.View, need int32) []freed {
	if len(o.first) == 0 {
		for i := range s.Servers() {
			o.first = append(o.first, len(o.gpus))
			o.gpus = s.AppendFree(o.gpus, cluster.ServerID(i))
		}
	}
	for int(need) >= len(o.known) {
		o.known, o.soonest = append(o.known, false), append(o.soonest, nil)
	}
	if o.known[need] {
		return o.soonest[need]
	}
	all := o.soonest[need][:0]
	for i := range s.Servers() {
		if id := cluster.ServerID(i); s.Open(id) && s.Server(id).GPUs >= need {
			if left := o.gpus[o.first[i]+int(need)-1]; left < cluster.Never {
				all = append(all, freed{left, id})
			}
		}
	}
	slices.SortFunc(all, func(a, b freed) int { return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.server, b.server)) })
	o.known[need], o.soonest[need] = true, all
	return all
}

// choose predicts when the gang can start on the fewest possible servers, and writes those that are free soonest to chosen, until
// the next call. It leaves out the blocks of the reservations beside. ok is false if the estimates do not predict a time, or if
// the gang fits there now.
func (o *outlook) choose(s *cluster.View, id cluster.JobID, beside []reservation) (free time.Duration, ok bool) {
	o.chosen = o.chosen[:0]
	workers, most := s.Spec(id).Workers, s.MostGPUs()
	for _, part := range [...]struct{ servers, need int32 }{{workers / most, most}, {min(workers%most, 1), workers % most}} {
		servers := part.servers
		if servers == 0 {
			continue
		}
		for _, f := range o.with(s, part.need) {
			if !s.MayUse(id, f.server) || slices.Contains(o.chosen, f.server) || reserves(beside, f.server) {
				continue
			}
			o.chosen, free = append(o.chosen, f.server), max(free, f.left)
			if servers--; servers == 0 {
				break
			}
		}
		if servers > 0 {
			return 0, false
		}
	}
	return s.Now() + free, free > 0
}

// reserves reports whether one of the reservations has the server in its block.
func reserves(all []reservation, v cluster.ServerID) bool {
	return slices.ContainsFunc(all, func(r reservation) bool { return r.block[v] })
}

// meets reports whether a placement uses one of the servers that choose wrote to chosen.
func (o *outlook) meets(p cluster.Placement) bool {
	return slices.ContainsFunc(p, func(q cluster.Piece) bool { return slices.Contains(o.chosen, q.Server) })
}

// block returns a reservation of the servers in chosen for the gang.
func (m *memory) block(s *cluster.View, id cluster.JobID, free time.Duration) reservation {
	n, from := s.Servers(), len(m.blocks)
	m.blocks = slices.Grow(m.blocks, n)[:from+n]
	r := reservation{gang: id, free: free, block: m.blocks[from : from+n : from+n]}
	clear(r.block)
	for _, v := range m.chosen {
		r.block[v] = true
	}
	return r
}

// holds returns a list of reservations with one more.
func (m *memory) holds(kept []reservation, more reservation) []reservation {
	from := len(m.reserved)
	m.reserved = append(append(m.reserved, kept...), more)
	return m.reserved[from:len(m.reserved):len(m.reserved)]
}

// reserve returns a reservation of the servers on which the gang is predicted to fit first, without those of the reservations
// beside.
func (m *memory) reserve(s *cluster.View, id cluster.JobID, beside []reservation) (r reservation, ok bool) {
	free, ok := m.choose(s, id, beside)
	if !ok {
		return reservation{}, false
	}
	return m.block(s, id, free), true
}
