package envtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/rng"
)

// walkSteps bounds the walks that need not reach the end of an episode.
const walkSteps = 400

// walk plays one episode.
type walk struct {
	env   env.Env
	spec  game.Spec
	ts    env.TimeStep
	draw  *rand.Rand
	joint []game.Action
	steps int
	// visited is the first step that was not visited yet, so that a walk may go on under another policy.
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

// passes is the joint action of agents who all pass.
func passes(agents int) []game.Action { return make([]game.Action, agents) }

// onWalk makes a check of one that needs a fresh walk, whose draws come from the stream of that name.
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

// onState is onWalk for a check that looks at the cluster's state.
func onState(name string, check func(w *walk) error) func(Make, uint64) error {
	return onWalk(name, func(w *walk) error {
		if w.ts.Cluster == nil {
			return fmt.Errorf("time steps hold no state: %w", ErrSkip)
		}
		return check(w)
	})
}

func (w *walk) close() { _ = w.env.Close() }

// step plays w.joint in place.
func (w *walk) step() error {
	w.steps++
	if err := w.env.Step(w.joint, &w.ts); err != nil {
		return fmt.Errorf("step %d: legal joint action %v: %w", w.steps, w.joint, err)
	}
	return nil
}

// errorf names the present step.
func (w *walk) errorf(format string, args ...any) error {
	return fmt.Errorf("step %d at %v: %w", w.steps, w.ts.Now, fmt.Errorf(format, args...))
}

// through visits the steps of an episode until it ends or so many were played, the first and the last included; choose
// answers each with w.joint.
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

// toEnd is through without a limit but for one that no episode reaches, whoever plays: a job that is kept from starting is asked
// for again every few minutes, for a few hours at most.
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

// finish names what the prior would do until the episode ends.
func (w *walk) finish(visit func() error) error { return w.toEnd(w.byPrior, visit) }

func nothing() error { return nil }

// byPrior answers with what the prior would do.
func (w *walk) byPrior() { w.ts.Unanimous(w.ts.Prior, w.joint) }

// random answers with legal actions.
func (w *walk) random() { RandomJoint(&w.ts.Round, w.draw, w.joint) }

// RandomJoint fills a legal joint action: by the toss of a coin all of its coalition name one candidate, or every agent names a
// number by itself; all that are legal are equally likely.
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
