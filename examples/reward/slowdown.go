package main

import (
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

// Slowdown is the bounded slowdown: the time that a job spends in the system counts in units of its own run time, so that a
// minute of waiting weighs more for a job of a minute than for one of a day. An episode in which every job finishes sums to minus
// JCT / max(estimate, Floor) of each. Where a job has no estimate it counts as one of Floor.
//
// A server answers for its part of the jobs that run on it, and all servers in equal parts for those that wait.
type Slowdown struct {
	Floor time.Duration // above 0; bounds what jobs of seconds weigh
}

var _ env.AgentReward = Slowdown{}

// Name implements env.Reward.
func (Slowdown) Name() string { return "slowdown" }

// Score implements env.Reward: nothing changes between two decision points but the clock.
func (r Slowdown) Score(s *cluster.View, from, to time.Duration) float64 {
	return -(r.weight(s, s.Pending()) + r.weight(s, s.Running())) * float64(to-from)
}

// ScoreAgents implements env.AgentReward. What it gives all agents sums to Score.
func (r Slowdown) ScoreAgents(s *cluster.View, from, to time.Duration, dst []float64) {
	waiting := r.weight(s, s.Pending()) * float64(to-from) / float64(len(dst))
	for i := range dst {
		dst[i] -= waiting
	}
	for _, id := range s.Running() {
		at := s.Placement(id)
		cost := r.of(s, id) * float64(to-from) / float64(at.Workers())
		for _, piece := range at {
			dst[piece.Server] -= cost * float64(piece.Workers)
		}
	}
}

func (r Slowdown) weight(s *cluster.View, ids []cluster.JobID) (sum float64) {
	for _, id := range ids {
		sum += r.of(s, id)
	}
	return sum
}

// of is what a nanosecond of the job's time costs.
func (r Slowdown) of(s *cluster.View, id cluster.JobID) float64 {
	return 1 / float64(max(s.Spec(id).Estimate, r.Floor))
}
