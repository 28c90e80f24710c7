package baselines

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/placement"
)

// MoveSuffix behind the name of a baseline makes running jobs move to where they would run faster.
const MoveSuffix = "+move"

// movers describes MoveSuffix.
func movers() Baseline {
	return Baseline{
		MoveSuffix, "behind a baseline: running jobs move to where they would go on faster",
		"Once the baseline has proposed, the running job that would gain most goes where it would start now if it did not run, with" +
			" what it would get there, and so on for a few more. What it gains of its time to go must be worth the move.",
		"own, so that a learned policy is never credited for moving jobs; migration after Gandiva (OSDI 2018)",
		needsEstimates + ", and what profiles say of speed", func(s *Settings) maker {
			moves(&s.Set)
			return nil
		},
	}
}

// moves declares the options of MoveSuffix.
func moves(s *option.Set) *candidates.Mover {
	m := &candidates.Mover{Saves: 30 * time.Minute}
	s.Duration(&m.Saves, "saves", "of its time to go, that a job must gain to move",
		"own choice; on training windows between 0 and 1h it hardly mattered")
	return m
}

// cutMove cuts MoveSuffix and its options off a name that has no LoanSuffix; m is nil if the name has no MoveSuffix.
func cutMove(name string) (inner string, m *candidates.Mover, err error) {
	inner, options, found := cutSuffix(name, MoveSuffix)
	if !found {
		return name, nil, nil
	}
	var s option.Set
	m = moves(&s)
	if err := s.Parse(options); err != nil {
		return name, nil, fmt.Errorf("policy %q: %s: %w", name, MoveSuffix, err)
	}
	return inner, m, nil
}

// Review describes how a judge or a learned team reviews the decisions of a baseline.
type Review struct {
	candidates.Config
	// Rule is the baseline's own rule for choosing among candidates (see MoveSuffix). nil always keeps the baseline's own proposal.
	Rule candidates.Judge
	// Play makes the scheduler that plays the baseline on in simulations. It is the same baseline, but it looks at fewer partners.
	Play func() cluster.Scheduler
}

// always returns a function that makes schedulers of a name that has been checked.
func (g Given) always(name string) func() cluster.Scheduler {
	return func() cluster.Scheduler {
		s, err := g.New(name)
		if err != nil {
			panic("baselines: " + err.Error())
		}
		return s
	}
}

// Reviewed returns the default review of a baseline, named as in New. Its candidates include changes to running jobs.
//
// If the name ends in KnowSuffix, the review is that of the baseline without it: the reviewer must use Given.Beliefs.
func Reviewed(name string) (r Review, err error) {
	if _, err := Fits(name); err != nil {
		return r, err
	}
	inner, _ := CutKnow(name)
	return Given{}.Reviewed(inner)
}

// Reviewed is like the function Reviewed, with what the baseline is given.
func (g Given) Reviewed(name string) (r Review, err error) {
	if _, err := g.New(name); err != nil {
		return r, err
	}
	inner, _, err := CutLoan(name)
	if err != nil {
		return r, err
	}
	loan := name[len(inner):]
	moved, m, err := cutMove(inner)
	if err != nil {
		return r, err
	}
	inner, move := moved, inner[len(moved):]
	if m != nil {
		r.Rule = m
	}
	r.Config, r.Play = candidates.Default(g.always(inner+loan)), g.always(name)
	r.Deltas, r.Items = true, 7
	base, options, found := cutSuffix(inner, MenuSuffix)
	if !found {
		return r, nil
	}
	menu, err := parseMenu(options)
	if err != nil {
		return r, err
	}
	r.Menu, r.Start = true, func() placement.Placer {
		p := menu()
		if m, ok := p.(*placement.Menu); ok {
			m.Wait = false
		}
		return p
	}
	few := slices.DeleteFunc(strings.Split(options, ":"), func(o string) bool { return o == "" || strings.HasPrefix(o, "tries=") })
	r.Play = g.always(base + MenuSuffix + ":" + strings.Join(append(few, "tries=1"), ":") + move + loan)
	return r, nil
}

// Wide returns the settings of wide lists of candidates for a baseline, named as in New: besides the baseline's own proposal the
// number items of candidates, among them what the rivals (other baselines) propose.
func Wide(name string, items int, rivals ...string) (candidates.Config, error) {
	r, err := Reviewed(name)
	if err != nil {
		return candidates.Config{}, err
	}
	c := r.Config
	c.Wide, c.Items = true, items
	inner, _ := CutKnow(name)
	c.Base = Given{}.always(inner)
	for _, rival := range rivals {
		if _, err := New(rival); err != nil {
			return c, fmt.Errorf("rival: %w", err)
		}
		c.Rivals = append(c.Rivals, candidates.Named{Name: rival, New: Given{}.always(rival)})
	}
	return c, nil
}
