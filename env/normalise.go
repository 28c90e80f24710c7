package env

import (
	"fmt"
	"math"
	"time"

	"github.com/clustergym/clustergym/env/game"
)

// NormalisedReward divides rewards by the standard deviation of all discounted returns so far, so that their size suits learners,
// whatever the cluster and the unit of the reward. It is gymnasium's NormalizeReward, with a discount for the time that passes,
// exp(-elapsed/memory), instead of one for each step. Steps in which no time passes do not change the deviation.
//
// The agents' own rewards are divided by the same number. The same episodes in the same order give the same rewards: several
// environments each learn their own deviation.
type NormalisedReward struct {
	Env
	memory time.Duration
	scale  RewardScale
}

// RewardScale is what a NormalisedReward has learned. A learner can store it and set it again.
type RewardScale struct {
	Count  uint64  `json:"count"`  // steps in which time passed
	Mean   float64 `json:"mean"`   // of the discounted return at these
	Spread float64 `json:"spread"` // the sum of its squared differences from the mean
	Return float64 `json:"return"` // the discounted return of the episode in progress
}

// Deviation returns the number that rewards are divided by. It is 1 until there are two returns.
func (s *RewardScale) Deviation() float64 {
	if s.Count < 2 {
		return 1
	}
	return math.Sqrt(s.Spread/float64(s.Count) + 1e-8) // returns that are all alike divide by 1e-4, as gymnasium's do
}

// NewNormalisedReward returns e with its rewards normalised. memory is the time constant of the discount: a reward that comes
// this much later counts 1/e as much. It must be above 0.
func NewNormalisedReward(e Env, memory time.Duration) (*NormalisedReward, error) {
	if memory <= 0 {
		return nil, fmt.Errorf("normalise rewards: memory %v, want above 0", memory)
	}
	return &NormalisedReward{Env: e, memory: memory}, nil
}

// Unwrap implements Wrapper.
func (n *NormalisedReward) Unwrap() Env { return n.Env }

// Scale returns what has been learned so far.
func (n *NormalisedReward) Scale() RewardScale { return n.scale }

// SetScale replaces what has been learned so far. A scale that no NormalisedReward could have learned is an error.
func (n *NormalisedReward) SetScale(s RewardScale) error {
	for _, x := range []float64{s.Mean, s.Spread, s.Return} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("normalise rewards: scale %+v, want finite numbers", s)
		}
	}
	if s.Spread < 0 {
		return fmt.Errorf("normalise rewards: spread %v, want 0 or more", s.Spread)
	}
	n.scale = s
	return nil
}

// Reset implements Env.
func (n *NormalisedReward) Reset(seed uint64, first *TimeStep) error {
	if err := n.Env.Reset(seed, first); err != nil {
		return err
	}
	n.scale.Return = 0
	n.normalise(first)
	return nil
}

// Step implements Env.
func (n *NormalisedReward) Step(joint []game.Action, next *TimeStep) error {
	if err := n.Env.Step(joint, next); err != nil {
		return err
	}
	n.normalise(next)
	return nil
}

// normalise learns from a step's reward and scales it.
func (n *NormalisedReward) normalise(ts *TimeStep) {
	s := &n.scale
	if ts.Elapsed > 0 {
		s.Return = s.Return*math.Exp(-float64(ts.Elapsed)/float64(n.memory)) + ts.Reward
		s.Count++
		from := s.Return - s.Mean
		s.Mean += from / float64(s.Count)
		s.Spread += from * (s.Return - s.Mean) // Welford, Technometrics 1962
	}
	by := s.Deviation()
	ts.Reward /= by
	for i := range ts.Rewards {
		ts.Rewards[i] /= by
	}
}
