package envtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/rng"
)

// walkSteps is the maximum number of steps of walks that need not reach the end of an episode.
const walkSteps = 400

// walk plays one episode.
type walk struct {
	env   env.Env
	spec  game.Spec
	ts    env.TimeStep
	draw  *rand.Rand
	joint []game.Action
	steps int
	// visited is the first step that was not visited yet. It lets a walk continue under another policy.
	visited int
}

// start resets a fresh environment. The caller closes the walk.
func start(make Make, seed uint64, name string) (*walk, error) {
	e, err := make()
	if err != nil {
		return nil, err
	}
	w := &walk{env: e, spec: e.Spec(), draw: rng.Stream(seed, "envtest", name)}
	w.joint = append(w.joint, passes(w.spec.Agents)...)
	if err := e.Reset(seed, &w.ts); err != nil {
		w.close()
		return nil, fmt.Errorf("seed %d: %w", seed, err)
	}
	return w, nil
}

// passes returns the joint action in which all agents pass.
func passes(agents int) []game.Action { return make([]game.Action, agents) }

// onWalk turns a check of a walk into a check of Make. The walk is fresh, and its random stream has the given name.
func onWalk(name string, check func(w *walk) error) func(Make, uint64) error {
	return func(make Make, seed uint64) error {
		w, err := start(make, seed, name)
		if err != nil {
			return err
		}
		defer w.close()
		return check(w)
	}
}

// onState is onWalk for a check that needs the state of the cluster.
func onState(name string, check func(w *walk) error) func(Make, uint64) error {
	return onWalk(name, func(w *walk) error {
		if w.ts.Cluster == nil {
			return fmt.Errorf("time steps hold no state: %w", ErrSkip)
		}
		return check(w)
	})
}

func (w *walk) close() { _ = w.env.Close() }

// step plays the joint action w.joint.
func (w *walk) step() error {
	w.steps++
	if err := w.env.Step(w.joint, &w.ts); err != nil {
		return fmt.Errorf("step %d: legal joint action %v: %w", w.steps, w.joint, err)
	}
	return nil
}

// errorf returns an error with the number and the time of the present step.
func (w *walk) errorf(format string, args ...any) error {
	return fmt.Errorf("step %d at %v: %w", w.steps, w.ts.Now, fmt.Errorf(format, args...))
}

// through calls visit at every step of an episode, including the first and the last, until the episode ends or limit steps are
// played. choose fills w.joint before each step.
func (w *walk) through(limit int, choose func(), visit func() error) error {
	for {
		if w.steps >= w.visited {
			w.visited = w.steps + 1
			if err := visit(); err != nil {
				return err
			}
		}
		if w.ts.Over() || w.steps == limit {
			return nil
		}
		choose()
		if err := w.step(); err != nil {
			return err
		}
	}
}

// toEnd is through with a limit that no episode reaches under any policy: the environment asks again for a job that is kept from
// starting every few minutes, but only for a few hours.
func (w *walk) toEnd(choose func(), visit func() error) error {
	limit := 1 << 20
	if w.ts.Cluster != nil {
		limit = w.steps + 2000 + 500*w.ts.Cluster.Jobs()
	}
	if err := w.through(limit, choose, visit); err != nil {
		return err
	}
	if !w.ts.Over() {
		return w.errorf("no end in sight")
	}
	return nil
}

// finish follows the prior until the episode ends.
func (w *walk) finish(visit func() error) error { return w.toEnd(w.byPrior, visit) }

func nothing() error { return nil }

// byPrior fills w.joint with the action that follows the prior.
func (w *walk) byPrior() { w.ts.Unanimous(w.ts.Prior, w.joint) }

// random fills w.joint with random legal actions.
func (w *walk) random() { RandomJoint(&w.ts.Round, w.draw, w.joint) }

// RandomJoint fills joint with random legal actions. With probability 1/2 a random candidate, or Pass, is named by its whole
// coalition; otherwise every agent draws one of its legal numbers independently.
func RandomJoint(r *game.Round, draw *rand.Rand, joint []game.Action) {
	if draw.IntN(2) == 0 {
		r.Unanimous(game.Action(draw.IntN(len(r.List)+1)), joint)
		return
	}
	for i := range joint {
		count := 0
		for n, ok := range r.Legal(i) {
			if !ok {
				continue
			}
			if count++; draw.IntN(count) == 0 {
				joint[i] = game.Action(n)
			}
		}
	}
}
