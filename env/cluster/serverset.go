package cluster

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
)

// ServerSet is a set of servers. It must not change once a State uses it.
type ServerSet struct{ bits []uint64 }

// NewServerSet returns an empty set for servers with ids below the given number.
func NewServerSet(servers int) *ServerSet { return &ServerSet{make([]uint64, (servers+63)/64)} }

// Clone returns an independent copy of the set.
func (s *ServerSet) Clone() *ServerSet { return &ServerSet{slices.Clone(s.bits)} }

// ServerSets stores one set for all equal sets, so that jobs with equal sets share one pointer.
type ServerSets map[string]*ServerSet

// Of returns the first set given to it that equals s. All sets must be of the same cluster.
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

// Add adds a server to the set. It panics if the id is beyond those that the set was made for.
func (s *ServerSet) Add(id ServerID) { s.bits[id/64] |= 1 << (id % 64) }

// Has reports whether the server is in the set.
func (s *ServerSet) Has(id ServerID) bool {
	return int(id/64) < len(s.bits) && s.bits[id/64]>>(id%64)&1 != 0
}

// Meets reports whether the sets share a server. A nil set contains all servers.
func (s *ServerSet) Meets(other *ServerSet) bool {
	if s == nil || other == nil {
		return true
	}
	for i := range min(len(s.bits), len(other.bits)) {
		if s.bits[i]&other.bits[i] != 0 {
			return true
		}
	}
	return false
}

// All returns an iterator over the servers of the set, ascending.
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

// MayUse reports whether the job accepts the server and its GPU type, regardless of free room.
func (s *View) MayUse(id JobID, server ServerID) bool {
	return s.mayUse(&s.servers[server], &s.jobs[id], server)
}

func (s *View) mayUse(v *server, j *job, id ServerID) bool {
	return j.kinds&v.kind != 0 && (j.spec.Where == nil || j.spec.Where.Has(id))
}
