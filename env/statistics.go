package env

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/game"
)

// Summary contains the statistics of one episode.
type Summary struct {
	Seed       uint64
	Return     float64       // the sum of rewards, including the reward for the time before the first round
	Returns    []float64     // [Agents]: the sum of each agent's rewards
	Rounds     int           // steps
	Time       time.Duration // simulated time from Reset to the end
	AsPrior    float64       // fraction of rounds in which the prior's choice was carried out; 0 without rounds
	Refused    int           // how many candidates were named and not carried out
	Terminated bool          // see TimeStep
	Truncated  string
}

// Statistics summarises episodes, like gymnasium's RecordEpisodeStatistics, without changing them. If it wraps a NormalisedReward
// it sums normalised rewards; if it is wrapped by one it sums the original rewards.
type Statistics struct {
	Env
	now, last Summary
	prior     game.Action // the prior's choice in the present round
	asPrior   int
	ended     bool
}

// NewStatistics returns e with its episodes summed up.
func NewStatistics(e Env) *Statistics { return &Statistics{Env: e} }

// Unwrap implements Wrapper.
func (s *Statistics) Unwrap() Env { return s.Env }

// Last returns the summary of the last episode that was played to its end; ok is false if there is none yet. In a vector in mode
// SameStep, it is the episode that the last step ended. Returns is valid until the next episode ends.
func (s *Statistics) Last() (last Summary, ok bool) { return s.last, s.ended }

// Reset implements Env.
func (s *Statistics) Reset(seed uint64, first *TimeStep) error {
	s.now, s.asPrior = Summary{Seed: seed, Returns: s.now.Returns[:0]}, 0
	if err := s.Env.Reset(seed, first); err != nil {
		return err
	}
	s.add(first)
	return nil
}

// Step implements Env.
func (s *Statistics) Step(joint []game.Action, next *TimeStep) error {
	if err := s.Env.Step(joint, next); err != nil {
		return err
	}
	s.now.Rounds++
	s.now.Refused += len(next.Refused)
	if slices.Contains(next.Taken, s.prior) {
		s.asPrior++
	}
	s.add(next)
	return nil
}

// add adds a time step to the summary of the present episode.
func (s *Statistics) add(ts *TimeStep) {
	e := &s.now
	if len(e.Returns) == 0 {
		e.Returns = append(e.Returns, make([]float64, len(ts.Rewards))...)
	}
	for i, x := range ts.Rewards {
		e.Returns[i] += x
	}
	e.Return += ts.Reward
	e.Time += ts.Elapsed
	s.prior = ts.Prior
	if !ts.Over() {
		return
	}
	e.Terminated, e.Truncated = ts.Terminated, ts.Truncated
	if e.Rounds > 0 {
		e.AsPrior = float64(s.asPrior) / float64(e.Rounds)
	}
	s.last, s.now.Returns, s.ended = *e, s.last.Returns, true // the two summaries exchange their memory
}
