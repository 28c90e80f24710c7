package main

import (
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

// Slowdown is a reward, the negative bounded slowdown. It measures the time of a job in the system in units of the job's own run
// time, so that a minute of waiting costs more for a job of a minute than for one of a day. If every job of an episode finishes,
// the rewards add up to -Σ JCT / max(estimate, Floor). A job without an estimate counts like one with the estimate Floor.
//
// For agents, the cost of a running job is divided among its servers by workers; the cost of waiting jobs is divided equally
// among all servers.
type Slowdown struct {
	Floor time.Duration // above 0; limits the weight of very short jobs
}

var _ env.AgentReward = Slowdown{}

// Name implements env.Reward.
func (Slowdown) Name() string { return "slowdown" }

// Score implements env.Reward. Between two decision points only the clock changes, so the reward is proportional to the time.
func (r Slowdown) Score(s *cluster.View, from, to time.Duration) float64 {
	return -(r.weight(s, s.Pending()) + r.weight(s, s.Running())) * float64(to-from)
}

// ScoreAgents implements env.AgentReward. The rewards of all agents add up to Score.
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

// of returns the cost of a nanosecond of the job's time.
func (r Slowdown) of(s *cluster.View, id cluster.JobID) float64 {
	return 1 / float64(max(s.Spec(id).Estimate, r.Floor))
}
