package baselines

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// movers describes MoveSuffix.
func movers() Baseline {
	return Baseline{
		MoveSuffix, "behind a baseline: running jobs move to where they would go on faster",
		"Once the baseline has proposed, the running job that would gain most goes where it would start now if it did not run, with" +
			" what it would get there, and so on for a few more. What it gains of its time to go must be worth the move.",
		"own, so that a learned policy is never credited for moving jobs; migration after Gandiva (OSDI 2018)",
		needsEstimates + ", and what profiles say of speed", declares(moves),
	}
}

// moves declares the options of MoveSuffix.
func moves(s *option.Set) *candidates.Mover {
	m := &candidates.Mover{Saves: 30 * time.Minute}
	s.Duration(&m.Saves, "saves", "of its time to go, that a job must gain to move",
		"own choice; on training windows between 0 and 1h it hardly mattered")
	return m
}

// Review describes how a judge or a learned team reviews the decisions of a baseline.
type Review struct {
	candidates.Config
	// Rule is the baseline's own rule for choosing among candidates (see MoveSuffix). nil always keeps the baseline's own proposal.
	Rule candidates.Judge
	// Play makes the scheduler that plays the baseline on in simulations. It is the same baseline, but it looks at fewer partners.
	Play func() cluster.Scheduler
}

// Reviewed is Table.Reviewed for the baselines of this package.
func Reviewed(name string) (Review, error) { return Table{}.Reviewed(name) }

// Reviewed is Spec.Review of a baseline that is given nothing.
func (t Table) Reviewed(name string) (Review, error) {
	s, err := t.Parse(name)
	if err != nil {
		return Review{}, err
	}
	return s.Review(Given{})
}

// Review returns the default review of a baseline. Its candidates include changes to running jobs.
//
// If the outermost suffix is KnowSuffix, the review is that of the baseline without it: the reviewer must use Spec.Beliefs.
func (s Spec) Review(g Given) (r Review, err error) {
	s, _ = s.CutKnow()
	if _, err := s.New(g); err != nil {
		return r, err
	}
	if move := s.suffix(MoveSuffix); move != "" {
		r.Rule = options(moves, move)
	}
	r.Config, r.Play = candidates.Default(s.with(MoveSuffix, "").always(g)), s.always(g)
	r.Deltas, r.Items = true, 7
	menu := s.suffix(MenuSuffix)
	if menu == "" {
		return r, nil
	}
	c := *options(menus, menu)
	c.Wait = false
	r.Menu, r.Start = true, func() placement.Placer { return placement.NewMenu(c) }
	words := slices.DeleteFunc(strings.Split(menu, ":"), func(o string) bool { return strings.HasPrefix(o, "tries=") })
	r.Play = s.with(MenuSuffix, strings.Join(append(words, "tries=1"), ":")).always(g)
	return r, nil
}

// Wide returns the settings of wide lists of candidates for a baseline: besides the baseline's own proposal the number items of
// candidates, among them what the rivals (other baselines) propose.
func (s Spec) Wide(items int, rivals ...Spec) (candidates.Config, error) {
	r, err := s.Review(Given{})
	if err != nil {
		return candidates.Config{}, err
	}
	c := r.Config
	c.Wide, c.Items = true, items
	inner, _ := s.CutKnow()
	c.Base = inner.always(Given{})
	for _, rival := range rivals {
		if _, err := rival.New(Given{}); err != nil {
			return c, fmt.Errorf("rival: %w", err)
		}
		c.Rivals = append(c.Rivals, candidates.Named{Name: rival.String(), New: rival.always(Given{})})
	}
	return c, nil
}
