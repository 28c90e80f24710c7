package candidates

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Held returns the servers that a board holds for a gang, nil for none.
func Held(s Source) []bool { return s.(*board).walk.front.block }

// Committed returns the servers that a guard holds, and what is left of the base's proposal.
func Committed(g *Guard) ([]bool, []cluster.Proposal) { return g.block, g.rest }

// Binds returns what a guard that is committed to the candidate will hold to, likewise.
func Binds(c *Candidate) ([]bool, []cluster.Proposal) { return c.block, c.rest }

// Room is what is foreseen in a state, for as long as it does not change.
type Room struct{ memory }

// Reserve returns the servers on which a gang finds room first, and when.
func (r *Room) Reserve(s *cluster.View, id cluster.JobID) (block []bool, free time.Duration, ok bool) {
	hold, ok := r.reserve(s, id)
	return hold.block, hold.free, ok
}

// Renew forgets what was foreseen.
func (r *Room) Renew() {
	r.memory.clear()
	r.renew()
}

// NewBoard is the source of wide lists.
var NewBoard = newBoard

// NewWalk is the source of narrow lists.
var NewWalk = newWalk
