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

// maxBins is the maximum length of a series: about five years of five-minute bins.
const maxBins = 1 << 19

// Series is demand over time: request rates, or fractions of a pool if Usage made it. Value i applies from i·Step to (i+1)·Step.
type Series struct {
	Step   time.Duration
	Values []float64 // finite, 0 or more
	Filled []bool    // which values were filled in, not measured; nil if none
}

// at returns the time at which value i begins.
func (s Series) at(i int) time.Duration { return time.Duration(i) * s.Step }

// IsFilled reports whether value i was filled in because its measurement is missing.
func (s Series) IsFilled(i int) bool { return s.Filled != nil && s.Filled[i] }

// Slice returns the values of s from lo up to but not including hi. The result shares memory with s.
func (s Series) Slice(lo, hi int) Series {
	part := Series{Step: s.Step, Values: s.Values[lo:hi]}
	if s.Filled != nil {
		part.Filled = s.Filled[lo:hi]
	}
	return part
}

// Check returns an error if s is not usable: if it has no step, no values or too many, or if a value is negative or not finite.
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

// Usage converts rates to fractions of the pool, each in [0,1]. Usage is proportional to the rate, scaled so that the given
// quantile of the measured rates (1 is their peak) uses the given fraction of the pool. Usage limits the result to 1, because no
// loan can help with demand beyond the pool.
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

// splitRange is the maximum distance from a bin at which Resample looks for pairs of bins whose differences it copies. It is
// short so that quiet hours stay quiet.
const splitRange = 6 * time.Hour

// Resample returns s with another step, which must be a multiple of the old step, or the old step halved any number of times.
//
// With a coarser step, each value is the mean of the values it covers. Resample drops bins at the end that do not fill a whole
// step.
//
// With a finer step, the two halves of a bin must not reveal the next bin, as interpolation between bins would: a predictor
// trained on such data would read the future from the slope. So Resample splits a bin of value v into v(1-d) and v(1+d), which
// keeps its mean exactly. It draws d from the relative differences (b-a)/(a+b) of neighbouring measured bins a, b less than six
// hours away. This assumes that bursts between five-minute bins are like those between ten-minute bins: in ServeGen's series the
// differences hardly shrink from one level to the next (TestBurstiness). With a coarser step Resample does not use r, which may
// then be nil.
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

// coarsen replaces every n values by their mean.
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
	var at []int    // by pair: the index of its first bin
	var d []float64 // by pair: its relative difference
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
