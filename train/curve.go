package train

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/sim"
)

// curve is the number of jobs in the system over an episode, with the discounted cost that is still to come at each change.
type curve struct {
	at     []time.Duration
	jobs   []float64     // from at[k] on
	togo   []float64     // job-hours to come at at[k], discounted
	memory time.Duration // of the discount
	total  float64       // undiscounted job-hours: the sum of completion times
}

// newCurve reads the log of an episode.
func newCurve(l *sim.Log, memory time.Duration) *curve {
	c := &curve{memory: memory}
	n := 0.0
	for i := range l.Records {
		r := &l.Records[i]
		switch r.Kind {
		case sim.Submit:
			n++
		case sim.Finish:
			n--
		default:
			continue
		}
		if k := len(c.at) - 1; k >= 0 && c.at[k] == r.At {
			c.jobs[k] = n
			continue
		}
		c.at, c.jobs = append(c.at, r.At), append(c.jobs, n)
	}
	c.togo = make([]float64, len(c.at))
	for k := len(c.at) - 2; k >= 0; k-- {
		c.togo[k] = c.across(k, c.at[k])
		c.total += c.jobs[k] * (c.at[k+1] - c.at[k]).Hours()
	}
	return c
}

// over is the cost relative to another on the same window, 1 if neither costs anything.
func (c *curve) over(other *curve) float64 {
	if other.total == 0 {
		return 1
	}
	return c.total / other.total
}

// across is the cost from t, in the k-th interval, on.
func (c *curve) across(k int, t time.Duration) float64 {
	fade := math.Exp(-float64(c.at[k+1]-t) / float64(c.memory))
	return c.jobs[k]*c.memory.Hours()*(1-fade) + fade*c.togo[k+1]
}

// from is the discounted cost to come at t: the integral of jobs·exp(-(s-t)/memory) over s from t on, in job-hours.
func (c *curve) from(t time.Duration) float64 {
	k, ok := slices.BinarySearch(c.at, t)
	if !ok {
		k--
	}
	switch {
	case k < 0: // nothing costs before the first job
		return c.togo[0] * math.Exp(-float64(c.at[0]-t)/float64(c.memory))
	case k >= len(c.at)-1:
		return 0
	}
	return c.across(k, t)
}
