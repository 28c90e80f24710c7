package candidates

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Held returns which servers a board reserves, by gang and server; empty without a reservation.
func Held(s Source) map[cluster.JobID][]bool { return blocks(s.(*board).walk.front.holds) }

// Committed returns the servers that a guard reserves, as Held, and the remaining operations of the base's proposal.
func Committed(g *Guard) (map[cluster.JobID][]bool, []cluster.Proposal) {
	return blocks(g.holds), g.rest
}

// Binds returns the same for a guard that is to be committed to the candidate.
func Binds(c *Candidate) (map[cluster.JobID][]bool, []cluster.Proposal) {
	return blocks(c.holds), c.rest
}

func blocks(holds []reservation) map[cluster.JobID][]bool {
	all := map[cluster.JobID][]bool{}
	for _, r := range holds {
		all[r.gang] = slices.Clone(r.block)
	}
	return all
}

// Room predicts free servers in a state. Its predictions are valid while the state does not change.
type Room struct{ memory }

// Reserve returns the servers on which a gang is predicted to fit first, and when.
func (r *Room) Reserve(s *cluster.View, id cluster.JobID) (block []bool, free time.Duration, ok bool) {
	hold, ok := r.reserve(s, id, nil)
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
