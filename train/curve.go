package train

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// curve is what an episode costs over time: less the reward, which is jobs in the system for env.Flow.
type curve struct {
	reward env.Reward
	at     []time.Duration
	rate   []float64     // cost an hour from at[k] to at[k+1]; one fewer than at
	togo   []float64     // cost to come at at[k], discounted; what closed works out
	memory time.Duration // of the discount
	total  float64       // undiscounted: the sum of completion times for env.Flow
}

var _ env.Reward = (*curve)(nil)

// newCurve returns a curve before its episode.
func newCurve(reward env.Reward, memory time.Duration) *curve {
	return &curve{reward: reward, memory: memory}
}

// Name implements env.Reward.
func (c *curve) Name() string { return c.reward.Name() }

// Score implements env.Reward and adds the stretch to the curve.
func (c *curve) Score(s *cluster.View, from, to time.Duration) float64 {
	x := c.reward.Score(s, from, to)
	c.add(from, to, -x)
	return x
}

// add is what a stretch of time costs; each begins where the last ended.
func (c *curve) add(from, to time.Duration, cost float64) {
	if len(c.at) == 0 {
		c.at = append(c.at, from)
	}
	c.at = append(c.at, to)
	c.rate = append(c.rate, cost/(to-from).Hours())
	c.total += cost
}

// closed works out what is to come at every instant, once the episode is over, and returns the curve.
func (c *curve) closed() *curve {
	c.togo = make([]float64, len(c.at))
	for k := len(c.at) - 2; k >= 0; k-- {
		c.togo[k] = c.across(k, c.at[k])
	}
	return c
}

// over is the cost relative to another on the same window, 1 if that costs nothing.
func (c *curve) over(other *curve) float64 {
	if other.total == 0 {
		return 1
	}
	return c.total / other.total
}

// across is the cost from t, in the k-th stretch, on.
func (c *curve) across(k int, t time.Duration) float64 {
	fade := math.Exp(-float64(c.at[k+1]-t) / float64(c.memory))
	return c.rate[k]*c.memory.Hours()*(1-fade) + fade*c.togo[k+1]
}

// from is the discounted cost to come at t: the integral of rate·exp(-(s-t)/memory) over s from t on.
func (c *curve) from(t time.Duration) float64 {
	if len(c.at) == 0 {
		return 0
	}
	k, ok := slices.BinarySearch(c.at, t)
	if !ok {
		k--
	}
	switch {
	case k < 0: // nothing costs before the first stretch
		return c.togo[0] * math.Exp(-float64(c.at[0]-t)/float64(c.memory))
	case k >= len(c.at)-1:
		return 0
	}
	return c.across(k, t)
}

// watch makes an episode under a scheduler score the time that passes.
func (c *curve) watch(run *sim.Sim) {
	run.Watch(func(from, to time.Duration) { c.Score(&run.State().View, from, to) })
}
