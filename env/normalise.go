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
	scale  rewardScale
}

// rewardScale is the running estimate of a NormalisedReward.
type rewardScale struct {
	count  uint64  // number of steps in which time passed
	mean   float64 // mean of the discounted return at these steps
	spread float64 // the sum of its squared differences from the mean
	total  float64 // the discounted return of the episode in progress
}

// deviation returns the number by which rewards are divided. It is 1 until there are two returns.
func (s *rewardScale) deviation() float64 {
	if s.count < 2 {
		return 1
	}
	return math.Sqrt(s.spread/float64(s.count) + 1e-8) // if all returns are equal, rewards are divided by 1e-4, as in gymnasium
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

// Reset implements Env.
func (n *NormalisedReward) Reset(seed uint64, first *TimeStep) error {
	if err := n.Env.Reset(seed, first); err != nil {
		return err
	}
	n.scale.total = 0
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
		s.total = s.total*math.Exp(-float64(ts.Elapsed)/float64(n.memory)) + ts.Reward
		s.count++
		from := s.total - s.mean
		s.mean += from / float64(s.count)
		s.spread += from * (s.total - s.mean) // Welford, Technometrics 1962
	}
	by := s.deviation()
	ts.Reward /= by
	for i := range ts.Rewards {
		ts.Rewards[i] /= by
	}
}
