package inference

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/internal/stats"
)

// burstReach is the time on either side of a bin from which fitBursts takes the usual rate.
const burstReach = 90 * time.Minute

// FitCycle fits a cycle to a series of at least a week whose step divides an hour. A burst is a run of bins above burstFloor
// times the median of the three hours around it. Hourly and Weekday are ratios of means outside bursts. Spread, Memory and Jitter
// follow from the autocovariances of the remaining logarithms at lags 0, 1 and 2. FitCycle ignores filled values.
func FitCycle(s Series) (Cycle, error) {
	if err := s.Check(); err != nil {
		return Cycle{}, err
	}
	if time.Hour%s.Step != 0 || len(s.Values) < int(7*day/s.Step) {
		return Cycle{}, fmt.Errorf("fit demand cycle: %d steps of %v, want at least a week of parts of an hour",
			len(s.Values), s.Step)
	}
	use := make([]bool, len(s.Values))
	for i, v := range s.Values {
		use[i] = v > 0 && !s.IsFilled(i)
	}
	var c Cycle
	c.fitBursts(s, use)
	if err := c.fitFactors(s, use); err != nil {
		return Cycle{}, err
	}
	if err := c.fitNoise(s, use); err != nil {
		return Cycle{}, err
	}
	return c, c.check()
}

// fitBursts fits the parameters of bursts and removes their bins from use.
func (c *Cycle) fitBursts(s Series, use []bool) {
	reach := int(burstReach / s.Step)
	measured := slices.Clone(use)
	var heights []float64 // by burst: its highest factor minus burstFloor
	bins, at := 0, -2     // at is the last bin of the latest burst
	total := 0
	var around []float64
	for i, v := range s.Values {
		if !measured[i] {
			continue
		}
		total++
		around = around[:0]
		for j := max(0, i-reach); j <= min(len(measured)-1, i+reach); j++ {
			if measured[j] {
				around = append(around, s.Values[j])
			}
		}
		factor := v / stats.Quantile(around, 0.5)
		if factor < burstFloor {
			continue
		}
		use[i] = false
		bins++
		if at != i-1 {
			heights = append(heights, 0)
		}
		at = i
		heights[len(heights)-1] = max(heights[len(heights)-1], factor-burstFloor)
	}
	if len(heights) == 0 {
		return
	}
	c.Bursts = float64(len(heights)) / (float64(total) * float64(s.Step) / float64(day))
	c.BurstHeight = stats.Mean(heights)
	c.BurstLength = time.Duration(float64(bins) / float64(len(heights)) * float64(s.Step))
}

// fitFactors fits the mean and the factors of hours and weekdays.
func (c *Cycle) fitFactors(s Series, use []bool) error {
	var mean stats.Welford
	var hours [24]stats.Welford
	var days [7]stats.Welford
	for i, v := range s.Values {
		if use[i] {
			mean.Add(v)
			hours[int(s.at(i)/time.Hour)%24].Add(v)
		}
	}
	c.Mean = mean.M
	for h := range hours {
		c.Hourly[h] = hours[h].M / c.Mean
	}
	for i, v := range s.Values {
		if use[i] {
			days[int(s.at(i)/day)%7].Add(v / c.Hourly[int(s.at(i)/time.Hour)%24])
		}
	}
	for d := range days {
		c.Weekday[d] = days[d].M / c.Mean
	}
	for i, f := range slices.Concat(c.Hourly[:], c.Weekday[:]) {
		if !(f > 0) {
			return fmt.Errorf("fit demand cycle: no measured bin outside bursts in hour or weekday %d", i)
		}
	}
	// The means of the factors differ a little from 1 because the hours have different numbers of bins. Normalise them; the level
	// belongs to Mean.
	for _, fs := range [...][]float64{c.Hourly[:], c.Weekday[:]} {
		m := stats.Mean(fs)
		for i := range fs {
			fs[i] /= m
		}
	}
	return nil
}

// fitNoise splits the deviations from the cycle into the slow part and jitter.
func (c *Cycle) fitNoise(s Series, use []bool) error {
	var mean stats.Welford
	x := make([]float64, len(s.Values))
	for i, v := range s.Values {
		if use[i] {
			x[i] = math.Log(v / c.at(s.at(i)+s.Step/2))
			mean.Add(x[i])
		}
	}
	cov := func(lag int) float64 {
		var w stats.Welford
		for i := lag; i < len(x); i++ {
			if use[i] && use[i-lag] {
				w.Add((x[i] - mean.M) * (x[i-lag] - mean.M))
			}
		}
		return w.M
	}
	g0, g1, g2 := cov(0), cov(1), cov(2)
	keep := g2 / g1
	if !(g1 > 0) || !(keep > 0 && keep < 1) {
		c.Jitter = math.Sqrt(max(g0, 0)) // no correlation between bins: all of it is jitter
		return nil
	}
	slow := min(g1*g1/g2, g0)
	c.Spread, c.Jitter = math.Sqrt(slow), math.Sqrt(g0-slow)
	c.Memory = time.Duration(-float64(s.Step) / math.Log(keep))
	return nil
}
