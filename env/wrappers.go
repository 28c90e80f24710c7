package env

import (
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
