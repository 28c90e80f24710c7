package train

import (
	"math"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/stats"
)

// contest compares a team's costs on windows with those of its prior and its rivals. What is compared are sums over windows: so
// windows in which nothing happens decide nothing, whatever the ratio of two small costs is there. Each scenario counts in the
// unit of its own prior, so that none outweighs the others.
type contest struct {
	of                []*scenario.Source // of each window; likewise the costs
	team, prior, best []float64
	rivals            [][]float64 // by rival, parallel to Config.against
}

// add adds an episode of the team.
func (c *contest) add(src *scenario.Source, team *curve, b *bars) {
	c.of = append(c.of, src)
	c.team, c.prior = append(c.team, team.figure), append(c.prior, b.prior.figure)
	if len(b.rivals) == 0 {
		return
	}
	if c.rivals == nil {
		c.rivals = make([][]float64, len(b.rivals))
	}
	for i, rival := range b.rivals {
		c.rivals[i] = append(c.rivals[i], rival.figure)
	}
	c.best = append(c.best, b.best().figure)
}

// scaled returns costs in the unit of the prior: each divided by the mean of the prior's over the windows of its scenario. Where
// the prior costs nothing on any window of the scenario, costs stay as they are.
func (c *contest) scaled(costs []float64) []float64 { return scaled(c.of, costs, c.prior) }

func scaled(of []*scenario.Source, costs, units []float64) []float64 {
	sum, n := map[*scenario.Source]float64{}, map[*scenario.Source]float64{}
	for i, src := range of {
		sum[src] += units[i]
		n[src]++
	}
	out := make([]float64, len(costs))
	for i, src := range of {
		if out[i] = costs[i]; sum[src] > 0 {
			out[i] /= sum[src] / n[src]
		}
	}
	return out
}

// over returns the team's costs divided by other costs of the same windows.
func (c *contest) over(others []float64) float64 {
	return ratio(stats.Mean(c.scaled(c.team)), stats.Mean(c.scaled(others)))
}

// ratio returns a cost divided by another one; 1 plus the cost if the other one is 0, so that nothing beats what costs nothing.
func ratio(cost, other float64) float64 {
	if other == 0 {
		return 1 + cost
	}
	return cost / other
}

// uncertain returns the standard error of over for the prior, nil for fewer than two windows.
func (c *contest) uncertain() *float64 {
	if len(c.team) < 2 {
		return nil
	}
	x := standardError(c.scaled(c.team), c.scaled(c.prior))
	return &x
}

// means returns the relative cost by rival, and that to the best rival of each window; nil and 0 without rivals.
func (c *contest) means(names []string) (against map[string]float64, best float64) {
	if c.rivals == nil {
		return nil, 0
	}
	against = map[string]float64{}
	for i, name := range names {
		against[name] = c.over(c.rivals[i])
	}
	return against, c.over(c.best)
}

// standardError returns that of the ratio of two sums over the same windows, by the jackknife: from the ratios that there are
// without each window in turn (Quenouille, Biometrika 1956). If one window costs more than all others together, the error is
// about what the others disagree with it by.
func standardError(costs, others []float64) float64 {
	n := float64(len(costs))
	without := make([]float64, len(costs))
	for i := range costs { // summed anew, as a difference of sums would leave the rounding of windows that cost nothing
		cost, other := 0.0, 0.0
		for k := range costs {
			if k != i {
				cost, other = cost+costs[k], other+others[k]
			}
		}
		without[i] = ratio(cost, other)
	}
	return stats.StdDev(without) * (n - 1) / math.Sqrt(n)
}

// better reports whether the sum of costs is lower than that of others of the same windows, by more than the standard error of
// their ratio. So what is better in a single window alone is not better. Of one window, which tells no error, it is the lower
// cost.
func better(costs, others []float64) bool {
	gain := 1 - ratio(stats.Mean(costs), stats.Mean(others))
	if len(costs) < 2 {
		return gain > 0
	}
	return gain > standardError(costs, others)*(1+1e-9)
}
