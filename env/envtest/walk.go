package envtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// walkSteps bounds the walks that need not reach the end of an episode.
const walkSteps = 400

// walk plays one episode.
type walk struct {
	env   env.Env
	spec  env.Spec
	ts    env.TimeStep
	draw  *rand.Rand
	joint []env.Action
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
	w.joint = append(w.joint, w.idle()...)
	if err := e.Reset(seed, &w.ts); err != nil {
		w.close()
		return nil, fmt.Errorf("seed %d: %w", seed, err)
	}
	return w, nil
}

// onWalk makes a check of one that needs a fresh walk, whose draws come from the stream of that name.
func onWalk(name string, check func(w *walk, seed uint64) error) func(Make, uint64) error {
	return func(make Make, seed uint64) error {
		w, err := start(make, seed, name)
		if err != nil {
			return err
		}
		defer w.close()
		return check(w, seed)
	}
}

// onState is onWalk for a check that looks at the cluster's state.
func onState(name string, check func(w *walk, seed uint64) error) func(Make, uint64) error {
	return onWalk(name, func(w *walk, seed uint64) error {
		if err := w.needState(); err != nil {
			return err
		}
		return check(w, seed)
	})
}

func (w *walk) close() { _ = w.env.Close() }

func (w *walk) idle() []env.Action { return make([]env.Action, w.spec.Agents) }

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

// limit is more steps than an episode in which agents act whenever they can may last: a job is submitted, starts and
// finishes once, and each of these is at most one step.
func (w *walk) limit() int {
	if w.ts.State == nil {
		return 1 << 20
	}
	return 3*w.ts.State.Jobs() + 16
}

// finish answers as complete does until the episode ends.
func (w *walk) finish(visit func() error) error {
	if err := w.through(w.steps+w.limit(), func() { w.complete() }, visit); err != nil {
		return err
	}
	if !w.ts.Over() {
		return w.errorf("no end, though agents act whenever they can")
	}
	return nil
}

// random answers with a legal action for every agent, each as likely as the others.
func (w *walk) random() { randomJoint(&w.spec, &w.ts, w.draw, w.joint) }

func randomJoint(spec *env.Spec, ts *env.TimeStep, draw *rand.Rand, joint []env.Action) {
	for i := range joint {
		legal, count := ts.Legal(spec, i), 0
		for a, ok := range legal {
			if !ok {
				continue
			}
			if count++; draw.IntN(count) == 0 {
				joint[i] = env.Action(a)
			}
		}
	}
}

// complete answers with all agents that may claim a randomly chosen job, so that it starts; with no-op if there is none.
// It returns the place of the job in the window and the level, or -1.
func (w *walk) complete() (k, l int) {
	found := 0
	var pick env.Action
	for i := range w.spec.Agents {
		for a, ok := range w.ts.Legal(&w.spec, i)[1:] {
			if !ok {
				continue
			}
			if found++; w.draw.IntN(found) == 0 {
				pick = env.Action(a + 1)
			}
		}
	}
	clear(w.joint)
	if found == 0 {
		return -1, -1
	}
	k, l = w.spec.Unpack(pick)
	first := -1
	for i := range w.joint {
		if !w.ts.Legal(&w.spec, i)[pick] {
			continue
		}
		if first < 0 {
			first = i
		}
		s := w.ts.State
		if s == nil || s.SameType(w.ts.Window[k], cluster.ServerID(first), cluster.ServerID(i)) {
			w.joint[i] = pick
		}
	}
	return k, l
}

// needState is the error of checks that look behind the observations.
func (w *walk) needState() error {
	if w.ts.State == nil {
		return fmt.Errorf("time steps hold no state: %w", ErrSkip)
	}
	return nil
}
