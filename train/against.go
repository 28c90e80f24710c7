package train

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
)

// ownPrior stands for the team's prior in Config.Against.
const ownPrior = "prior"

// against returns the names listed in Against.
func (c *Config) against() []string { return listed(c.Against) }

// listed returns the names in a list, none for the empty one.
func listed(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, ",")
}

// checkAgainst returns an error about a name in Against that is no baseline, stands there twice, or is told the truth.
func (c *Config) checkAgainst() error {
	names := c.against()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("train.against: %q twice", name)
		}
		if name == ownPrior {
			continue
		}
		s, err := c.Table.Parse(name)
		if err != nil {
			return fmt.Errorf("train.against: %w", err)
		}
		if err := c.decidesBy(s); err != nil {
			return fmt.Errorf("train.against: %w", err)
		}
		if s.Needs().Truth != (baselines.Truth{}) {
			return fmt.Errorf("train.against: %q is told the truth, want a baseline that is not", name)
		}
	}
	return nil
}

// bars are the costs with which the team's cost on a window is compared.
type bars struct {
	prior  *curve
	rivals []*curve // parallel to Config.against
}

// best returns the lowest total cost of the rivals, and a rival with that cost; nil without rivals.
func (b *bars) best() (lowest *curve) {
	for _, c := range b.rivals {
		if lowest == nil || c.figure < lowest.figure {
			lowest = c
		}
	}
	return lowest
}

// relate divides the advantages of rollouts by the mean cost of the best rivals over the windows of the same scenario, so that
// scenarios weigh equally, however much their windows cost. Windows of one scenario keep their weights: what is to be low is the
// sum of their costs, and in a window in which the best rival costs next to nothing a ratio says nothing. Without rivals, or if
// they cost nothing, relate changes nothing.
//
// The rival's cost is not subtracted. It is the same for all choices of a window, so that would not change the expected gradient:
// advantages are differences from the prior in any case.
func relate(windows []window) {
	ones, best, of := make([]float64, len(windows)), make([]float64, len(windows)), make([]*scenario.Source, len(windows))
	for i := range windows {
		ones[i], of[i] = 1, windows[i].source
		if c := windows[i].best(); c != nil {
			best[i] = c.total
		}
	}
	for i, times := range scaled(of, ones, best) {
		for _, r := range windows[i].group {
			for k := range r.samples {
				r.samples[k].Gain *= times
			}
		}
	}
}

// compare plays the prior and the rivals on n windows, each once, and returns their costs. at returns a window.
func (r *run) compare(ctx context.Context, n int, at func(i int) (*scenario.Source, sim.Episode, error)) ([]bars, error) {
	rivals := r.cfg.against()
	each := 1 + len(rivals) // the prior comes first
	costs := make([]*curve, n*each)
	err := r.each(ctx, len(costs), func(i int) error {
		name := ownPrior
		if k := i % each; k > 0 {
			if name = rivals[k-1]; name == ownPrior || name == r.policy.Prior {
				return nil
			}
		}
		src, e, err := at(i / each)
		if err != nil {
			return err
		}
		s := agents.NewPrior(&r.at(src, r.policy).Setting)
		if name != ownPrior {
			if s, err = r.baseline(src, name); err != nil {
				return err
			}
		}
		costs[i], err = r.goal.follow(s, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	var all []bars
	for c := range slices.Chunk(costs, each) {
		b := bars{c[0], c[1:]}
		for k := range b.rivals {
			if b.rivals[k] == nil {
				b.rivals[k] = b.prior
			}
		}
		all = append(all, b)
	}
	return all, nil
}
