package env

import (
	"fmt"
	"math"
	"time"

	"github.com/clustergym/clustergym/env/game"
)

// NormalisedReward divides rewards by the standard deviation of all discounted returns so far, so that their magnitude suits
// learners on any cluster and with any unit of the reward. It works like gymnasium's NormalizeReward, but discounts by the
// elapsed time, with the factor exp(-elapsed/memory), and not once per step. Steps in which no time passes do not change the
// deviation.
//
// The agents' own rewards are divided by the same number. Equal sequences of episodes give equal rewards, so each of several
// environments has its own deviation.
type NormalisedReward struct {
	Env
	memory time.Duration
	scale  RewardScale
}

// RewardScale is the state of a NormalisedReward. A learner can store it and restore it.
type RewardScale struct {
	Count  uint64  `json:"count"`  // number of steps in which time passed
	Mean   float64 `json:"mean"`   // mean of the discounted return at these steps
	Spread float64 `json:"spread"` // the sum of its squared differences from the mean
	Return float64 `json:"return"` // the discounted return of the episode in progress
}

// Deviation returns the number by which rewards are divided. It is 1 until there are two returns.
func (s *RewardScale) Deviation() float64 {
	if s.Count < 2 {
		return 1
	}
	return math.Sqrt(s.Spread/float64(s.Count) + 1e-8) // if all returns are equal, rewards are divided by 1e-4, as in gymnasium
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

// Scale returns the present scale.
func (n *NormalisedReward) Scale() RewardScale { return n.scale }

// SetScale replaces the present scale. It returns an error if no NormalisedReward could have computed s.
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

// normalise updates the scale with a step's reward and divides the reward by the deviation.
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
