package env

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/game"
)

// recorder writes a record of the episodes that are played in an environment: one line of JSON for every Reset and every Step
// that succeeds. Replay plays the record again.
type recorder struct {
	Env
	w io.Writer
}

// NewRecorder returns e with its episodes written to w, one write per line. Use a bufio.Writer for fewer and larger writes. If a
// write fails, the Reset or Step that made it returns the error, and the record cannot be used.
func NewRecorder(e Env, w io.Writer) Env { return &recorder{e, w} }

// Unwrap implements Wrapper.
func (r *recorder) Unwrap() Env { return r.Env }

// Reset implements Env.
func (r *recorder) Reset(seed uint64, first *TimeStep) error {
	if err := r.Env.Reset(seed, first); err != nil {
		return err
	}
	return r.write(newEntry(&seed, nil, first))
}

// Step implements Env.
func (r *recorder) Step(joint []game.Action, next *TimeStep) error {
	if err := r.Env.Step(joint, next); err != nil {
		return err
	}
	return r.write(newEntry(nil, joint, next))
}

func (r *recorder) write(x entry) error {
	line, err := json.Marshal(x)
	if err == nil {
		_, err = r.w.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("record episode: %w", err)
	}
	return nil
}

// entry is one line of a record: a reset or a joint action, and what happened until the next round.
type entry struct {
	Seed       *uint64       `json:"seed,omitempty"`    // for a reset: the seed
	Joint      []game.Action `json:"joint,omitempty"`   // for a step: one number per agent
	Taken      []game.Action `json:"taken,omitempty"`   // the candidates that were carried out
	Refused    []refusal     `json:"refused,omitempty"` // those that were named and not carried out
	Reward     float64       `json:"reward"`
	Rewards    []float64     `json:"rewards,omitempty"` // the agents' own rewards, if they are not all equal
	Elapsed    time.Duration `json:"elapsed_ns"`
	Terminated bool          `json:"terminated,omitempty"`
	Truncated  string        `json:"truncated,omitempty"`
}

type refusal struct {
	Candidate game.Action `json:"candidate"`
	Reason    string      `json:"reason"`
}

func newEntry(seed *uint64, joint []game.Action, ts *TimeStep) entry {
	x := entry{
		Seed: seed, Joint: joint, Taken: ts.Taken, Reward: ts.Reward, Elapsed: ts.Elapsed, Terminated: ts.Terminated,
		Truncated: ts.Truncated,
	}
	for _, r := range ts.Refused {
		x.Refused = append(x.Refused, refusal{r.Candidate, r.Reason.String()})
	}
	if slices.ContainsFunc(ts.Rewards, func(v float64) bool { return v != ts.Reward }) {
		x.Rewards = ts.Rewards
	}
	return x
}
