package main

import (
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

// Slowdown counts the time that a job spends in the system in units of its own run time, so that a minute of waiting weighs
// more for a job of a minute than for one of a day. An episode in which every job finishes sums to minus its slowdowns,
// JCT / max(estimate, Floor). Where a job has no estimate it counts as one of Floor.
type Slowdown struct {
	Floor time.Duration // above 0; bounds what jobs of seconds weigh
}

var _ env.Reward = Slowdown{}

// Name implements env.Reward.
func (Slowdown) Name() string { return "bounded slowdown" }

// Score implements env.Reward: nothing changes between two decision points but the clock.
func (r Slowdown) Score(s *cluster.State, from, to time.Duration) float64 {
	weight := 0.0
	for _, ids := range [][]cluster.JobID{s.Pending(), s.Running()} {
		for _, id := range ids {
			weight += 1 / float64(max(s.Spec(id).Estimate, r.Floor))
		}
	}
	return -weight * float64(to-from)
}
