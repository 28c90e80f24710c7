package envtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

func order(make Make, seed uint64) error {
	e, err := make()
	if err != nil {
		return err
	}
	defer e.Close()
	spec := e.Spec()
	none := slices.Repeat([]env.Action{env.NoOp}, spec.Agents)
	var ts env.TimeStep
	if err := e.Step(none, &ts); !errors.Is(err, env.ErrOver) {
		return fmt.Errorf("step before the first reset: error %w, want ErrOver", err)
	}
	w, err := start(make, seed, "order")
	if err != nil {
		return err
	}
	defer w.close()
	for _, joint := range [][]env.Action{none[:len(none)-1], append(slices.Clone(none), env.NoOp)} {
		if err := w.env.Step(joint, &env.TimeStep{}); err == nil {
			return fmt.Errorf("step with %d actions for %d agents: no error", len(joint), len(none))
		}
	}
	if err := w.finish(func() error { return nil }); err != nil {
		return err
	}
	if err := w.env.Step(none, &env.TimeStep{}); !errors.Is(err, env.ErrOver) {
		return w.errorf("step after the end: error %v, want ErrOver", err)
	}
	if err := w.env.Reset(seed, &w.ts); err != nil {
		return fmt.Errorf("reset after the end: %w", err)
	}
	if err := w.env.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if err := w.env.Step(none, &env.TimeStep{}); !errors.Is(err, env.ErrOver) {
		return fmt.Errorf("step after Close: error %w, want ErrOver", err)
	}
	return nil
}

func shape(w *walk, _ uint64) error {
	s := &w.spec
	if s.Agents < 1 || s.Window < 1 || len(s.Menu) < 1 {
		return fmt.Errorf("spec has %d agents, a window of %d and a menu of %d, want at least 1 of each",
			s.Agents, s.Window, len(s.Menu))
	}
	return w.through(walkSteps, w.random, func() error {
		for _, slice := range []struct {
			name      string
			got, want int
		}{
			{"Servers", len(w.ts.Servers), s.Agents * len(s.Server)},
			{"Jobs", len(w.ts.Jobs), s.Window * len(s.Job)},
			{"Items", len(w.ts.Items), s.Agents * s.Items() * len(s.Item)},
			{"Global", len(w.ts.Global), len(s.Global)},
			{"Mask", len(w.ts.Mask), s.Agents * s.Actions()},
			{"Window", len(w.ts.Window), s.Window},
		} {
			if slice.got != slice.want {
				return w.errorf("%s has %d numbers, want %d", slice.name, slice.got, slice.want)
			}
		}
		return nil
	})
}

func ranges(w *walk, _ uint64) error {
	s := &w.spec
	return w.through(walkSteps, w.random, func() error {
		err := errors.Join(
			within(w.ts.Servers, s.Server, "server"), within(w.ts.Jobs, s.Job, "window job"),
			within(w.ts.Items, s.Item, "item"), within(w.ts.Global, s.Global, "global"),
		)
		if err != nil {
			return w.errorf("%w", err)
		}
		for k, id := range w.ts.Window {
			if n := len(s.Job); id < 0 && nonZero(w.ts.Jobs[k*n:(k+1)*n]) {
				return w.errorf("absent job %d of the window has a row that is not 0", k)
			}
		}
		for i := range s.Agents {
			for at, legal := range w.ts.Legal(s, i)[1:] {
				row := (i*s.Items() + at) * len(s.Item)
				if !legal && nonZero(w.ts.Items[row:row+len(s.Item)]) {
					return w.errorf("masked item %d of agent %d has a row that is not 0", at, i)
				}
			}
		}
		return nil
	})
}

// within reports the first number of rows of features that is outside its bounds or not a number.
func within(x []float32, features []env.Feature, what string) error {
	for at, v := range x {
		f := &features[at%len(features)]
		if !(v >= float32(f.Min) && v <= float32(f.Max)) {
			return fmt.Errorf("%s %d: %s is %v, want %v to %v", what, at/len(features), f.Name, v, f.Min, f.Max)
		}
	}
	return nil
}

func nonZero(x []float32) bool {
	return slices.ContainsFunc(x, func(v float32) bool { return v != 0 })
}

func window(w *walk, _ uint64) error {
	s := &w.spec
	levels := len(s.Menu)
	return w.through(walkSteps, w.random, func() error {
		for i := range s.Agents {
			if !w.ts.Legal(s, i)[env.NoOp] {
				return w.errorf("agent %d may not answer no-op", i)
			}
		}
		for k, id := range w.ts.Window {
			if id < 0 {
				for i := range s.Agents {
					if slices.Contains(w.ts.Legal(s, i)[1+k*levels:1+(k+1)*levels], true) {
						return w.errorf("agent %d may claim the absent job %d of the window", i, k)
					}
				}
				continue
			}
			if slices.Contains(w.ts.Window[:k], id) {
				return w.errorf("job %d is twice in the window", id)
			}
			if st := w.ts.State; st != nil && st.Phase(id) != cluster.Pending {
				return w.errorf("job %d of the window is %v, want pending", id, st.Phase(id))
			}
		}
		return nil
	})
}

func refused(w *walk, _ uint64) error {
	sure := false // whether the joint action must win
	choose := func() {
		if sure = w.draw.IntN(2) == 0; !sure {
			w.random()
			return
		}
		// One claim a worker at most: then nobody can lose.
		k, _ := w.complete()
		if k < 0 || w.ts.State == nil {
			sure = false
			return
		}
		claimants := int32(0)
		for _, a := range w.joint {
			if a != env.NoOp {
				claimants++
			}
		}
		spec := w.ts.State.Spec(w.ts.Window[k])
		sure = claimants <= spec.Workers/spec.Together()
	}
	return w.through(walkSteps, choose, func() error {
		for n, i := range w.ts.Refused {
			if i < 0 || int(i) >= w.spec.Agents || w.joint[i] == env.NoOp {
				return w.errorf("agent %d is refused but claimed nothing", i)
			}
			if slices.Contains(w.ts.Refused[:n], i) {
				return w.errorf("agent %d is refused twice", i)
			}
		}
		if sure && len(w.ts.Refused) > 0 {
			return w.errorf("agents %v are refused, who claimed a whole gang together", w.ts.Refused)
		}
		return nil
	})
}

func masked(w *walk, _ uint64) error {
	var before, shown, spare env.TimeStep
	return w.through(walkSteps, w.random, func() error {
		if w.ts.Over() {
			return nil
		}
		agent := w.draw.IntN(w.spec.Agents)
		action := env.Action(w.draw.IntN(w.spec.Actions()))
		illegal := slices.Repeat([]env.Action{env.NoOp}, w.spec.Agents)
		w.random()
		copy(illegal, w.joint) // the legal claims of the others must not be carried out either
		for _, wrong := range []env.Action{action, -1, env.Action(w.spec.Actions())} {
			inRange := wrong == action
			if inRange && w.ts.Legal(&w.spec, agent)[action] {
				continue
			}
			illegal[agent] = wrong
			before.CopyFrom(&w.ts)
			was := fingerprint(w.ts.State)
			err := w.env.Step(illegal, &spare)
			if err == nil || inRange && !errors.Is(err, env.ErrMasked) {
				return w.errorf("agent %d answers %d against its mask: error %v, want ErrMasked", agent, wrong, err)
			}
			if fingerprint(w.ts.State) != was {
				return w.errorf("agent %d answers %d against its mask: the state has changed", agent, wrong)
			}
			shown.CopyFrom(&w.ts)
			if err := same(&before, &shown); err != nil {
				return w.errorf("agent %d answers %d against its mask: the last step has changed: %w", agent, wrong, err)
			}
		}
		return nil
	})
}

// fingerprint spells all that a joint action could change.
func fingerprint(s *cluster.State) string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintln(&b, s.Now(), s.Pending(), s.Running())
	for _, id := range s.Running() {
		fmt.Fprintln(&b, id, s.Placement(id), s.GPUs(id), s.Progress(id), s.Attained(id))
	}
	return b.String()
}
