package train

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim"
)

// curve is the cost of an episode over time. What happens at an instant is spread over the interval that begins there.
type curve struct {
	costing
	measured *objectives.Meter // as eval measures the episode, if that is another cost than the costing's
	at       []time.Duration
	rate     []float64     // cost per hour from at[k] to at[k+1]; one element fewer than at
	togo     []float64     // discounted cost from at[k] to the end of the episode; set by closed
	memory   time.Duration // of the discount
	total    float64       // undiscounted cost
	figure   float64       // by which episodes are compared: total without the jobs that fill the cluster first; set by closed
}

var _ env.Reward = (*curve)(nil)

// newCurve returns an empty curve, for an episode that has not begun.
func newCurve(g goal, e *sim.Episode) *curve {
	c := &curve{costing: g.costing(e), memory: g.memory}
	if g.reward == nil && e.Config.Warm > 0 {
		c.measured = e.Meter(g.objective, nil)
	}
	return c
}

// Name implements env.Reward.
func (c *curve) Name() string { return "training" }

// Score implements env.Reward. It also adds the interval to the curve.
func (c *curve) Score(s *cluster.View, from, to time.Duration) float64 {
	x := c.pass(s, from, to)
	if c.measured != nil {
		c.measured.Pass(s, from, to)
	}
	c.add(from, to, x)
	return -x
}

// add appends the cost of an interval. Each interval must begin where the last one ended.
func (c *curve) add(from, to time.Duration, cost float64) {
	if len(c.at) == 0 {
		c.at = append(c.at, from)
	}
	c.at = append(c.at, to)
	c.rate = append(c.rate, cost/(to-from).Hours())
	c.total += cost
}

// ended adds what happened last in an episode that is over in the given state, and returns the curve.
func (c *curve) ended(v *cluster.View) *curve {
	last := c.rest(v)
	c.total += last
	if n := len(c.rate); n > 0 {
		c.rate[n-1] += last / (c.at[n] - c.at[n-1]).Hours()
	}
	c.figure = c.total
	if c.measured != nil {
		c.measured.Catch(v)
		c.figure = c.measured.Total()
	}
	return c.closed()
}

// closed computes togo, and returns the curve.
func (c *curve) closed() *curve {
	c.togo = make([]float64, len(c.at))
	for k := len(c.at) - 2; k >= 0; k-- {
		c.togo[k] = c.across(k, c.at[k])
	}
	return c
}

// across returns the discounted cost from t, which lies in the k-th interval, to the end of the episode.
func (c *curve) across(k int, t time.Duration) float64 {
	fade := math.Exp(-float64(c.at[k+1]-t) / float64(c.memory))
	return c.rate[k]*c.memory.Hours()*(1-fade) + fade*c.togo[k+1]
}

// interval returns the number of the interval in which t lies: -1 before the first, and len(c.at)-1 after the last.
func (c *curve) interval(t time.Duration) int {
	k, ok := slices.BinarySearch(c.at, t)
	if !ok {
		k--
	}
	return k
}

// rateAt returns the cost per hour at t.
func (c *curve) rateAt(t time.Duration) float64 {
	if k := c.interval(t); k >= 0 && k < len(c.rate) {
		return c.rate[k]
	}
	return 0
}

// from returns the discounted cost from t to the end of the episode: the integral of rate·exp(-(s-t)/memory) over s from t on.
func (c *curve) from(t time.Duration) float64 {
	if len(c.at) == 0 {
		return 0
	}
	k := c.interval(t)
	switch {
	case k < 0: // there is no cost before the first interval
		return c.togo[0] * math.Exp(-float64(c.at[0]-t)/float64(c.memory))
	case k >= len(c.at)-1:
		return 0
	}
	return c.across(k, t)
}

// watch makes a simulation score its time for the curve, for any scheduler.
func (c *curve) watch(run *sim.Sim) {
	run.Watch(func(from, to time.Duration) { c.Score(&run.State().View, from, to) })
}
