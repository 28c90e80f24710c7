package envtest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
)

func order(make Make, seed uint64) error {
	e, err := make()
	if err != nil {
		return err
	}
	defer e.Close()
	none := passes(e.Spec().Agents)
	var ts env.TimeStep
	if err := e.Step(none, &ts); !errors.Is(err, env.ErrOver) {
		return fmt.Errorf("step before the first reset: error %w, want ErrOver", err)
	}
	w, err := start(make, seed, "order")
	if err != nil {
		return err
	}
	defer w.close()
	for _, joint := range [][]game.Action{none[:len(none)-1], append(slices.Clone(none), game.Pass)} {
		if err := w.env.Step(joint, &env.TimeStep{}); err == nil {
			return fmt.Errorf("step with %d actions for %d agents: no error", len(joint), len(none))
		}
	}
	if err := w.finish(nothing); err != nil {
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

func shape(w *walk) error {
	s := &w.spec
	if s.Agents < 1 || s.Candidates < 2 || s.Jobs < 0 {
		return fmt.Errorf("spec has %d agents, %d numbers and %d rows of jobs, want at least 1, 2 and 0", s.Agents, s.Candidates,
			s.Jobs)
	}
	return w.through(walkSteps, w.random, func() error {
		r := &w.ts
		for _, slice := range []struct {
			name      string
			got, want int
		}{
			{"Servers", len(r.Servers), s.Agents * len(s.Server)},
			{"Jobs", len(r.Jobs), s.Jobs * len(s.Job)},
			{"Candidates", len(r.Candidates), s.Candidates * len(s.Candidate)},
			{"Global", len(r.Global), len(s.Global)},
			{"Mask", len(r.Mask), s.Agents * s.Candidates},
			{"Of", len(r.Of), len(r.List)},
			{"Rewards", len(r.Rewards), s.Agents},
			{"Ids", len(r.Ids), min(len(r.Ids), s.Jobs)},
			{"List", len(r.List), min(len(r.List), s.Candidates-1)},
		} {
			if slice.got != slice.want {
				return w.errorf("%s has %d elements, want %d", slice.name, slice.got, slice.want)
			}
		}
		if len(r.List) == 0 && !r.Over() || len(r.List) > 0 && r.Terminated {
			return w.errorf("%d candidates, and that the episode is over is %v", len(r.List), r.Over())
		}
		return nil
	})
}

func ranges(w *walk) error {
	s := &w.spec
	return w.through(walkSteps, w.random, func() error {
		r := &w.ts
		jobs, pass, end := len(r.Ids)*len(s.Job), len(s.Candidate), (1+len(r.List))*len(s.Candidate)
		err := errors.Join(
			within(r.Servers, s.Server, "server"), within(r.Jobs[:jobs], s.Job, "job"), within(r.Global, s.Global, "cluster"),
			within(r.Candidates[pass:end], s.Candidate, "candidate less 1"),
		)
		switch {
		case err != nil:
			return w.errorf("%w", err)
		case nonZero(r.Jobs[jobs:]):
			return w.errorf("a row beyond the %d jobs is not 0", len(r.Ids))
		case nonZero(r.Candidates[:pass]):
			return w.errorf("the row of Pass is not 0")
		case nonZero(r.Candidates[end:]):
			return w.errorf("a row beyond the %d candidates is not 0", len(r.List))
		}
		return nil
	})
}

// within returns an error about the first number that is NaN or outside the bounds of its feature.
func within(x []float32, features []observe.Feature, what string) error {
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

// coalition compares masks, the jobs of candidates and the prior's choice with the list and its members.
func coalition(w *walk) error {
	s := &w.spec
	return w.through(walkSteps, w.random, func() error {
		r := &w.ts
		last := game.Action(len(r.List))
		if r.Prior < min(1, last) || r.Prior > last {
			return w.errorf("the prior would do %d, want one of the %d candidates", r.Prior, last)
		}
		ascending := slices.IsSortedFunc(r.Coalition, func(a, b game.Share) int {
			return int(a.Candidate-b.Candidate)*s.Agents + int(a.Server-b.Server)
		})
		if !ascending {
			return w.errorf("coalitions %v are not ascending by candidate and server", r.Coalition)
		}
		for n := game.Pass; int(n) < s.Candidates; n++ {
			sum, at := 0.0, r.Members(n)
			for k, m := range at {
				if sum += float64(m.Weight); n == game.Pass || n > last || k > 0 && at[k-1].Server == m.Server || !(m.Weight > 0) {
					return w.errorf("candidate %d of %d has coalition %v", n, last, at)
				}
			}
			if len(at) > 0 && math.Abs(sum-1) > 1e-5 || len(at) == 0 && n > 1 && n <= last && !r.List[n-1].Gone {
				return w.errorf("candidate %d has coalition %v, want members whose weights sum to 1", n, at)
			}
			for i := range s.Agents {
				part := slices.ContainsFunc(at, func(m game.Share) bool { return int(m.Server) == i })
				if legal := r.Legal(i)[n]; legal != (part || n == game.Pass) {
					return w.errorf("agent %d may name %d: %v, but its coalition is %v", i, n, legal, at)
				}
			}
		}
		for k, row := range r.Of {
			if id := r.List[k].Job; row < -1 || int(row) >= len(r.Ids) || row >= 0 && r.Ids[row] != id {
				return w.errorf("candidate %d is about job %d, but its row is %d of %v", k+1, id, row, r.Ids)
			}
		}
		for k, id := range r.Ids {
			if slices.Contains(r.Ids[:k], id) {
				return w.errorf("job %d is shown twice", id)
			}
		}
		return nil
	})
}

func masked(w *walk) error {
	var before, shown, spare env.TimeStep
	illegal := passes(w.spec.Agents)
	return w.through(walkSteps, w.random, func() error {
		if w.ts.Over() {
			return nil
		}
		agent := w.draw.IntN(w.spec.Agents)
		action := game.Action(w.draw.IntN(w.spec.Candidates))
		w.random()
		copy(illegal, w.joint) // the candidates that the other agents name must not be carried out either
		for _, wrong := range []game.Action{action, -1, game.Action(w.spec.Candidates)} {
			inRange := wrong == action
			if inRange && w.ts.Legal(agent)[action] {
				continue
			}
			illegal[agent] = wrong
			before.CopyFrom(&w.ts)
			was := fingerprint(w.ts.Cluster)
			err := w.env.Step(illegal, &spare)
			if err == nil || inRange && !errors.Is(err, game.ErrMasked) {
				return w.errorf("agent %d names %d against its mask: error %v, want ErrMasked", agent, wrong, err)
			}
			if fingerprint(w.ts.Cluster) != was {
				return w.errorf("agent %d names %d against its mask: the state has changed", agent, wrong)
			}
			shown.CopyFrom(&w.ts)
			if err := same(&before, &shown); err != nil {
				return w.errorf("agent %d names %d against its mask: the last step has changed: %w", agent, wrong, err)
			}
		}
		return nil
	})
}

// fingerprint returns, as text, all of the state that a joint action could change.
func fingerprint(s *cluster.View) string {
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
