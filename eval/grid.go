package eval

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
)

// grid contains a plan's results, indexed by policy, window and seed.
type grid struct {
	policies, windows []string
	seeds             []uint64
	cells             []*Result
}

func (g *grid) at(policy, window, seed int) **Result {
	return &g.cells[(policy*len(g.windows)+window)*len(g.seeds)+seed]
}

// arrange puts results into a grid. It returns an error if one is missing or there are two for a case.
func arrange(results []Result) (*grid, error) {
	g := &grid{}
	if len(results) == 0 {
		return nil, fmt.Errorf("no results")
	}
	for i := range results {
		r := &results[i]
		if r.Scenario != results[0].Scenario || r.Split != results[0].Split {
			return nil, fmt.Errorf("results of %s %s and of %s %s do not compare",
				results[0].Scenario, results[0].Split, r.Scenario, r.Split)
		}
		g.policies = appendNew(g.policies, r.Policy)
		g.windows = appendNew(g.windows, r.Window)
		g.seeds = appendNew(g.seeds, r.Seed)
	}
	g.cells = make([]*Result, len(g.policies)*len(g.windows)*len(g.seeds))
	for i := range results {
		r := &results[i]
		cell := g.at(slices.Index(g.policies, r.Policy), slices.Index(g.windows, r.Window), slices.Index(g.seeds, r.Seed))
		if *cell != nil {
			return nil, fmt.Errorf("two results for %v", r.Case)
		}
		*cell = r
	}
	for p, policy := range g.policies {
		for w, window := range g.windows {
			for s, seed := range g.seeds {
				if *g.at(p, w, s) == nil {
					return nil, fmt.Errorf("no result for %s under %s, seed %d", window, policy, seed)
				}
			}
		}
	}
	return g, nil
}

func appendNew[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// perWindow returns the policy's quantity in every window, averaged over seeds.
func (g *grid) perWindow(policy int, q Quantity) []float64 {
	out := make([]float64, len(g.windows))
	for w := range out {
		for s := range g.seeds {
			out[w] += q.of(*g.at(policy, w, s))
		}
		out[w] /= float64(len(g.seeds))
	}
	return out
}

func (g *grid) truncated(policy int) int {
	n := 0
	for w := range g.windows {
		for s := range g.seeds {
			if (*g.at(policy, w, s)).Truncated != "" {
				n++
			}
		}
	}
	return n
}

// middle returns the interquartile mean of a policy's differences from the baseline, case by case; nil if a baseline value is 0.
func (g *grid) middle(policy, base int, q Quantity) *Difference {
	strata := make([][]float64, len(g.windows))
	var all []float64
	for w := range strata {
		for s := range g.seeds {
			is, was := q.of(*g.at(policy, w, s)), q.of(*g.at(base, w, s))
			if was == 0 {
				return nil
			}
			strata[w] = append(strata[w], 100*(is-was)/was)
		}
		all = append(all, strata[w]...)
	}
	lo, hi := stats.IQMCI(strata, Level, resamples, rng.Stream(bootstrapSeed, "eval", "iqm", q.Key))
	return &Difference{Number(stats.IQM(all)), Number(lo), Number(hi)}
}
