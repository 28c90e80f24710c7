package env

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/game"
)

// Wrapper is an environment that wraps another one.
type Wrapper interface {
	Env
	Unwrap() Env
}

// As unwraps e until it finds an environment of type T and returns it. ok is false if there is none.
func As[T any](e Env) (found T, ok bool) {
	for {
		if found, ok = e.(T); ok {
			return found, true
		}
		w, wraps := e.(Wrapper)
		if !wraps {
			return found, false
		}
		e = w.Unwrap()
	}
}

// timeLimit truncates episodes after a number of steps.
type timeLimit struct {
	Env
	limit, steps int
}

// NewTimeLimit returns e with episodes cut off after at most limit steps. limit must be 1 or more.
func NewTimeLimit(e Env, limit int) (Env, error) {
	if limit < 1 {
		return nil, fmt.Errorf("limit environment: %d steps, want at least 1", limit)
	}
	return &timeLimit{Env: e, limit: limit}, nil
}

// Unwrap implements Wrapper.
func (t *timeLimit) Unwrap() Env { return t.Env }

// Reset implements Env.
func (t *timeLimit) Reset(seed uint64, first *TimeStep) error {
	t.steps = 0
	return t.Env.Reset(seed, first)
}

// Step implements Env.
func (t *timeLimit) Step(joint []game.Action, next *TimeStep) error {
	if t.steps == t.limit {
		return fmt.Errorf("step environment: %w", ErrOver)
	}
	if err := t.Env.Step(joint, next); err != nil {
		return err
	}
	if t.steps++; t.steps == t.limit && !next.Over() {
		next.Truncated = fmt.Sprintf("limit of %d steps", t.limit)
	}
	return nil
}

// wholeReturn moves the time before the first step, and its reward, into this step.
type wholeReturn struct {
	Env
	elapsed time.Duration
	reward  float64
	rewards []float64
}

// NewWholeReturn returns e with rewards that a learner can add up who sees no reward after a reset, as that of Gymnasium: the
// first step of an episode has the time before it and its reward, too. An episode without steps keeps them.
func NewWholeReturn(e Env) Env { return &wholeReturn{Env: e} }

// Unwrap implements Wrapper.
func (w *wholeReturn) Unwrap() Env { return w.Env }

// Reset implements Env.
func (w *wholeReturn) Reset(seed uint64, first *TimeStep) error {
	w.elapsed, w.reward, w.rewards = 0, 0, w.rewards[:0]
	if err := w.Env.Reset(seed, first); err != nil || first.Over() {
		return err
	}
	w.elapsed, w.reward, w.rewards = first.Elapsed, first.Reward, append(w.rewards, first.Rewards...)
	first.Elapsed, first.Reward = 0, 0
	clear(first.Rewards)
	return nil
}

// Step implements Env.
func (w *wholeReturn) Step(joint []game.Action, next *TimeStep) error {
	if err := w.Env.Step(joint, next); err != nil {
		return err
	}
	next.Elapsed += w.elapsed
	next.Reward += w.reward
	for i, x := range w.rewards {
		next.Rewards[i] += x
	}
	w.elapsed, w.reward, w.rewards = 0, 0, w.rewards[:0]
	return nil
}

// orderCheck returns errors for calls in the wrong order and for joint actions of the wrong length. It is for environments that
// do not check these themselves.
type orderCheck struct {
	Env
	agents  int
	playing bool
}

// NewOrderCheck returns e with its calls checked.
func NewOrderCheck(e Env) Env { return &orderCheck{Env: e, agents: e.Spec().Agents} }

// Unwrap implements Wrapper.
func (o *orderCheck) Unwrap() Env { return o.Env }

// Reset implements Env.
func (o *orderCheck) Reset(seed uint64, first *TimeStep) error {
	err := o.Env.Reset(seed, first)
	o.playing = err == nil && !first.Over()
	return err
}

// Step implements Env.
func (o *orderCheck) Step(joint []game.Action, next *TimeStep) error {
	if !o.playing {
		return fmt.Errorf("step environment: %w", ErrOver)
	}
	if len(joint) != o.agents {
		return fmt.Errorf("step environment: %d actions, want one for each of the %d agents", len(joint), o.agents)
	}
	if err := o.Env.Step(joint, next); err != nil {
		return err
	}
	o.playing = !next.Over()
	return nil
}

// Close implements Env.
func (o *orderCheck) Close() error {
	o.playing = false
	return o.Env.Close()
}
