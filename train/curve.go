package train

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// curve is the cost of an episode over time. The cost is the negative reward; for env.Flow its rate is the number of jobs in the
// system.
type curve struct {
	reward env.Reward
	at     []time.Duration
	rate   []float64     // cost per hour from at[k] to at[k+1]; one element fewer than at
	togo   []float64     // discounted cost from at[k] to the end of the episode; set by closed
	memory time.Duration // of the discount
	total  float64       // undiscounted cost; for env.Flow the sum of completion times
	figure float64       // by which episodes are compared, see compared; 0 for total
}

var _ env.Reward = (*curve)(nil)

// newCurve returns an empty curve, for an episode that has not begun.
func newCurve(reward env.Reward, memory time.Duration) *curve {
	return &curve{reward: reward, memory: memory}
}

// Name implements env.Reward.
func (c *curve) Name() string { return c.reward.Name() }

// Score implements env.Reward. It also adds the interval to the curve.
func (c *curve) Score(s *cluster.View, from, to time.Duration) float64 {
	x := c.reward.Score(s, from, to)
	c.add(from, to, -x)
	return x
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

// closed computes togo once the episode is over, and returns the curve.
func (c *curve) closed() *curve {
	c.togo = make([]float64, len(c.at))
	for k := len(c.at) - 2; k >= 0; k-- {
		c.togo[k] = c.across(k, c.at[k])
	}
	return c
}

// compared sets the figure of the episode with the given log, and returns the curve. For an env.Surrogate it is the figure that
// matters. For env.Flow in an episode that begins with warm jobs it is the sum of the completion times of the other jobs, in
// hours: those are the jobs that eval measures. The cost of the warm jobs may be most of the total, and says little about them.
func (c *curve) compared(log *sim.Log) *curve {
	switch reward := c.reward.(type) {
	case env.Surrogate:
		c.figure = reward.Figure(log)
	case env.Flow:
		if log.Config.Warm > 0 {
			for _, hours := range env.CompletionTimes(log) {
				c.figure += hours
			}
		}
	}
	return c
}

// over returns the figure, or the total cost where there is none, divided by that of another curve on the same window. It returns
// 1 if the other one is 0.
func (c *curve) over(other *curve) float64 {
	switch {
	case other.figure > 0:
		return c.figure / other.figure
	case other.total == 0:
		return 1
	}
	return c.total / other.total
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
