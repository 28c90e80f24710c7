package env

import "github.com/clustergym/clustergym/env/sim"

// Fork makes dst an independent copy of the episode in progress, which costs about as much as a few decisions: for agents and
// learners that look ahead. The copy goes on with sim.Sim.Continue.
func (c *Cluster) Fork(dst *sim.Sim) { c.sim.Fork(dst) }
