package candidates

import "github.com/clustergym/clustergym/env/cluster"

// Held returns the servers that a board holds for a gang, nil for none.
func Held(s Source) []bool { return s.(*Board).walk.front.block }

// Committed returns the servers that a guard holds, and what is left of the base's proposal.
func Committed(g *Guard) ([]bool, []cluster.Proposal) { return g.block, g.rest }

// Binds returns what a guard that is committed to the candidate will hold to, likewise.
func Binds(c *Candidate) ([]bool, []cluster.Proposal) { return c.block, c.rest }
