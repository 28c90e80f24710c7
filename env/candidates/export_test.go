package candidates

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Held returns, by server, whether a board reserves it for a gang; nil without a reservation.
func Held(s Source) []bool { return s.(*board).walk.front.block }

// Committed returns the servers that a guard reserves, and the remaining operations of the base's proposal.
func Committed(g *Guard) ([]bool, []cluster.Proposal) { return g.block, g.rest }

// Binds returns the same for a guard that is to be committed to the candidate.
func Binds(c *Candidate) ([]bool, []cluster.Proposal) { return c.block, c.rest }

// Room predicts free servers in a state. Its predictions are valid while the state does not change.
type Room struct{ memory }

// Reserve returns the servers on which a gang is predicted to fit first, and when.
func (r *Room) Reserve(s *cluster.View, id cluster.JobID) (block []bool, free time.Duration, ok bool) {
	hold, ok := r.reserve(s, id)
	return hold.block, hold.free, ok
}

// Renew discards the predictions.
func (r *Room) Renew() {
	r.memory.clear()
	r.renew()
}

// NewBoard returns the source of wide lists.
var NewBoard = newBoard

// NewWalk returns the source of narrow lists.
var NewWalk = newWalk
