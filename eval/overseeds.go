package eval

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/stats"
)

// numbered matches the name of one of several policies that differ in the seed of their training: NAME-SEED.
var numbered = regexp.MustCompile(`^(.+)-[0-9]+$`)

// OverSeeds replaces policies named NAME-1, NAME-2 and so on by one policy "NAME, N seeds". Each of its values is the mean over
// these policies, and each interval is one over seeds: that of stats.PairedCI for the policies' own mean differences. So it tells
// how much training again would change the result on the same windows, and not how much other windows would. Middle is left out,
// and Wins and Ties are sums over the policies. Other policies, and those that are the only one with their name, stay as they
// are.
func OverSeeds(c *Comparison) Comparison {
	groups := map[string][]*Summary{}
	for i := range c.Policies {
		if m := numbered.FindStringSubmatch(c.Policies[i].Policy); m != nil && c.Policies[i].Policy != c.Baseline {
			groups[m[1]] = append(groups[m[1]], &c.Policies[i])
		}
	}
	merged := *c
	merged.Policies = nil
	for _, p := range c.Policies {
		m := numbered.FindStringSubmatch(p.Policy)
		if m == nil || len(groups[m[1]]) < 2 || p.Policy == c.Baseline {
			merged.Policies = append(merged.Policies, p)
			continue
		}
		if of := groups[m[1]]; of[0].Policy == p.Policy {
			merged.Policies = append(merged.Policies, pooled(c, m[1], of))
		}
	}
	return merged
}

// pooled returns the mean of policies that differ in the seed of their training.
func pooled(c *Comparison, name string, of []*Summary) Summary {
	s := Summary{Policy: fmt.Sprintf("%s, %d seeds", name, len(of))}
	for k, q := range c.quantities() {
		m, means := Metric{Key: q.Key}, make([]float64, len(of))
		for i, p := range of {
			means[i] = float64(p.Metrics[k].Mean)
			m.Wins += p.Metrics[k].Wins
			m.Ties += p.Metrics[k].Ties
		}
		m.Mean = Number(stats.Mean(means))
		m.Diff = acrossSeeds(of, q.Key, func(p *Summary) *Difference { return p.Metrics[k].Diff })
		m.Relative = acrossSeeds(of, q.Key, func(p *Summary) *Difference { return p.Metrics[k].Relative }).possible()
		s.Metrics = append(s.Metrics, m)
	}
	var costs [][]objectives.Bill
	for _, p := range of {
		s.Truncated += p.Truncated
		costs = append(costs, p.Costs)
	}
	s.Costs = objectives.MeanBills(costs)
	return s
}

// acrossSeeds returns the mean of the policies' differences with its interval, nil if one of them is nil.
func acrossSeeds(of []*Summary, key string, which func(*Summary) *Difference) *Difference {
	var means []float64
	for _, p := range of {
		if d := which(p); d != nil {
			means = append(means, float64(d.Mean))
		}
	}
	if len(means) < len(of) || slices.ContainsFunc(means, func(x float64) bool { return x != x }) {
		return nil
	}
	return difference(means, key)
}
