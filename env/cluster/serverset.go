package cluster

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
)

// ServerSet is a set of servers. Once a State has met it, it changes no more.
type ServerSet struct{ bits []uint64 }

// NewServerSet returns an empty set of servers with ids below servers.
func NewServerSet(servers int) *ServerSet { return &ServerSet{make([]uint64, (servers+63)/64)} }

// Clone returns a set of its own with the same servers.
func (s *ServerSet) Clone() *ServerSet { return &ServerSet{slices.Clone(s.bits)} }

// ServerSets keeps one set for all that are equal, so that the jobs that share one are known to be alike.
type ServerSets map[string]*ServerSet

// Of returns the set that was first given of those equal to this one. Sets are of the same cluster.
func (m ServerSets) Of(s *ServerSet) *ServerSet {
	key := make([]byte, 0, 8*len(s.bits))
	for _, word := range s.bits {
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	if known, ok := m[string(key)]; ok {
		return known
	}
	m[string(key)] = s
	return s
}

// Add puts a server into the set. An id beyond those that the set was made for panics.
func (s *ServerSet) Add(id ServerID) { s.bits[id/64] |= 1 << (id % 64) }

// Has reports whether the server is in the set.
func (s *ServerSet) Has(id ServerID) bool {
	return int(id/64) < len(s.bits) && s.bits[id/64]>>(id%64)&1 != 0
}

// All yields the servers of the set, ascending.
func (s *ServerSet) All() iter.Seq[ServerID] {
	return func(yield func(ServerID) bool) {
		for i, word := range s.bits {
			for ; word != 0; word &= word - 1 {
				if !yield(ServerID(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// MayUse reports whether the job may run on the server, whatever room there is: it is one of those that will do, with GPUs of a
// type that will do.
func (s *View) MayUse(id JobID, server ServerID) bool {
	return s.mayUse(&s.servers[server], &s.jobs[id], server)
}

func (s *View) mayUse(v *server, j *job, id ServerID) bool {
	return j.kinds&v.kind != 0 && (j.spec.Where == nil || j.spec.Where.Has(id))
}
