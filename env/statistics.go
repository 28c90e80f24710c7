package env

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/game"
)

// Summary is what an episode came to.
type Summary struct {
	Seed       uint64
	Return     float64       // the sum of rewards, that of the time before the first round among them
	Returns    []float64     // of each agent
	Rounds     int           // steps
	Time       time.Duration // simulated
	AsPrior    float64       // of the rounds, those in which what the prior would have done was carried out; 0 without rounds
	Refused    int           // candidates that were named and not carried out
	Terminated bool          // see TimeStep
	Truncated  string
}

// Statistics sums up episodes, like gymnasium's RecordEpisodeStatistics. It changes nothing. Around NormalisedReward it sums what
// that gives; within it, the rewards as they are.
type Statistics struct {
	Env
	now, last Summary
	prior     game.Action // what it would do in the present round
	asPrior   int
	ended     bool
}

// NewStatistics returns e with its episodes summed up.
func NewStatistics(e Env) *Statistics { return &Statistics{Env: e} }

// Unwrap implements Wrapper.
func (s *Statistics) Unwrap() Env { return s.Env }

// Last returns what the last episode that was played to its end came to; ok is false before there is one. In a vector that resets
// at once it is that of the episode which the step has ended. Its Returns are valid until the next episode ends.
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

// add counts what a step shows.
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
	s.last, s.now.Returns, s.ended = *e, s.last.Returns, true // the two take turns with their memory
}
