package inference

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/internal/stats"
)

const day = 24 * time.Hour

// maxBins bounds the length of a series: three and a half years of five minutes.
const maxBins = 1 << 19

// Series is demand over time: request rates, or after Usage fractions of a pool. Value i holds from i·Step to (i+1)·Step.
type Series struct {
	Step   time.Duration
	Values []float64 // finite, 0 or more
	Filled []bool    // which values stand in for a gap and were not measured; nil if none
}

// at is the time at which value i begins.
func (s Series) at(i int) time.Duration { return time.Duration(i) * s.Step }

// IsFilled reports whether value i stands in for a gap.
func (s Series) IsFilled(i int) bool { return s.Filled != nil && s.Filled[i] }

// Slice is the part of s from value lo up to but not including hi. It shares memory with s.
func (s Series) Slice(lo, hi int) Series {
	part := Series{Step: s.Step, Values: s.Values[lo:hi]}
	if s.Filled != nil {
		part.Filled = s.Filled[lo:hi]
	}
	return part
}

// check reports what makes s unfit for use: no step, no values or too many, values that are negative or not finite.
func (s Series) Check() error {
	if s.Step <= 0 {
		return fmt.Errorf("check series: step %v, want more than 0", s.Step)
	}
	if len(s.Values) == 0 || len(s.Values) > maxBins {
		return fmt.Errorf("check series: %d values, want 1 to %d", len(s.Values), maxBins)
	}
	if time.Duration(len(s.Values)) > math.MaxInt64/s.Step {
		return fmt.Errorf("check series: %d steps of %v overflow the time", len(s.Values), s.Step)
	}
	if s.Filled != nil && len(s.Filled) != len(s.Values) {
		return fmt.Errorf("check series: %d flags for %d values", len(s.Filled), len(s.Values))
	}
	for i, v := range s.Values {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("check series: value %g at %d, want a finite number of 0 or more", v, i)
		}
	}
	return nil
}

// Usage turns rates into fractions of the pool, each in [0,1]: the quantile of the measured rates (1 is their peak)
// takes the given fraction of the pool, and servers are in use in proportion to the rate. What would need more than the
// pool is cut off at 1, since no loan can answer it.
func (s Series) Usage(quantile, fraction float64) (Series, error) {
	if err := s.Check(); err != nil {
		return Series{}, err
	}
	if !(quantile > 0 && quantile <= 1) || !(fraction > 0 && fraction <= 1) {
		return Series{}, fmt.Errorf("scale series: quantile %g takes %g of the pool, want both above 0 and at most 1",
			quantile, fraction)
	}
	measured := make([]float64, 0, len(s.Values))
	for i, v := range s.Values {
		if !s.IsFilled(i) {
			measured = append(measured, v)
		}
	}
	top := stats.Quantile(measured, quantile)
	if !(top > 0) {
		return Series{}, fmt.Errorf("scale series: quantile %g of %d measured values is %g, want more than 0",
			quantile, len(measured), top)
	}
	usage := Series{Step: s.Step, Values: make([]float64, len(s.Values)), Filled: slices.Clone(s.Filled)}
	for i, v := range s.Values {
		usage.Values[i] = min(v/top*fraction, 1)
	}
	return usage, nil
}

var errRatio = errors.New("want the old step times a whole number, or halved some times")

// splitRange is how far from a bin Resample looks for pairs of bins to split it like, so that quiet hours stay quiet.
const splitRange = 6 * time.Hour

// Resample returns s at another step, a multiple of the old one or the old one halved some times.
//
// A coarser value is the mean of those it covers; bins that do not fill the last one are dropped.
//
// A finer pair must not tell what comes next, as interpolation between bins would: a predictor trained on such data
// reads the future off the slope. So a bin is split in two halves with its mean kept exactly, v(1-d) and v(1+d), where
// d is drawn from the relative differences (b-a)/(a+b) of neighbouring measured bins a, b less than six hours away.
// That takes bursts between five minutes to be like those between ten: in ServeGen's series the differences hardly
// shrink from one level to the next (TestBurstiness). r is not read for coarser steps and may then be nil.
func (s Series) Resample(step time.Duration, r *rand.Rand) (Series, error) {
	if err := s.Check(); err != nil {
		return Series{}, err
	}
	switch {
	case step <= 0:
		return Series{}, fmt.Errorf("resample series: from %v to %v: %w", s.Step, step, errRatio)
	case step >= s.Step && step%s.Step == 0:
		n := int(min(step/s.Step, maxBins+1))
		if n > len(s.Values) {
			return Series{}, fmt.Errorf("resample series: %d values of %v do not fill one of %v", len(s.Values), s.Step, step)
		}
		return s.coarsen(n), nil
	}
	for s.Step > step {
		if s.Step%2 != 0 || s.Step/2 < step {
			return Series{}, fmt.Errorf("resample series: from %v to %v: %w", s.Step, step, errRatio)
		}
		if 2*len(s.Values) > maxBins {
			return Series{}, fmt.Errorf("resample series: more than %d values", maxBins)
		}
		s = s.halve(r)
	}
	if s.Step != step {
		return Series{}, fmt.Errorf("resample series: from %v to %v: %w", s.Step, step, errRatio)
	}
	return s, nil
}

// coarsen joins n values each.
func (s Series) coarsen(n int) Series {
	out := Series{Step: s.Step * time.Duration(n), Values: make([]float64, len(s.Values)/n)}
	if s.Filled != nil {
		out.Filled = make([]bool, len(out.Values))
	}
	for i := range out.Values {
		for j := i * n; j < (i+1)*n; j++ {
			out.Values[i] += s.Values[j] / float64(n)
			if s.IsFilled(j) {
				out.Filled[i] = true
			}
		}
	}
	return out
}

// halve splits every value in two.
func (s Series) halve(r *rand.Rand) Series {
	var at []int    // the bin that opens a pair
	var d []float64 // the pair's relative difference
	for i := range len(s.Values) - 1 {
		a, b := s.Values[i], s.Values[i+1]
		if a+b > 0 && !s.IsFilled(i) && !s.IsFilled(i+1) {
			at, d = append(at, i), append(d, (b-a)/(a+b))
		}
	}
	out := Series{Step: s.Step / 2, Values: make([]float64, 0, 2*len(s.Values))}
	if s.Filled != nil {
		out.Filled = make([]bool, 0, 2*len(s.Values))
	}
	reach := max(1, int(splitRange/s.Step))
	for i, v := range s.Values {
		lo, _ := slices.BinarySearch(at, i-reach)
		hi, _ := slices.BinarySearch(at, i+reach)
		x := 0.0
		if lo < hi {
			x = d[lo+r.IntN(hi-lo)]
		}
		out.Values = append(out.Values, v*(1-x), v*(1+x))
		if s.Filled != nil {
			out.Filled = append(out.Filled, s.Filled[i], s.Filled[i])
		}
	}
	return out
}
