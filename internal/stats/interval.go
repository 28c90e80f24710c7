package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// bootstrapFrom is the least number of differences for which resamples show the shape of the distribution. Three differences have
// ten distinct resamples, and one draw in nine repeats a single number throughout. Five differences have 126 distinct resamples,
// and only one draw in 625 does so.
const bootstrapFrom = 5

// leastError is the smallest standard error that PairedCI uses for a resample, as a fraction of the sample's own. Resamples of a
// few windows often miss the windows with large differences and contain only near-ties; divided by their tiny standard error,
// their t would grow without bound. With a quarter, the coverage falls by less than half a point from ten differences on, and the
// intervals do not become too wide.
const leastError = 0.25

// PairedCI returns a two-sided confidence interval at level (such as 0.95) for the mean of paired differences, one for each case
// that both policies replayed. At each end it takes the wider of two intervals around the observed mean:
//
//   - Student's t, with len(diffs)-1 degrees of freedom. It is right for normal differences and too wide for symmetric ones
//     with heavy tails, but covers too little at one end if the differences are skewed.
//   - The studentised bootstrap (bootstrap-t: Efron and Tibshirani 1993, section 12.5; Hall 1988), which follows the skew
//     but is too narrow for contended windows. PairedCI draws the given number of resamples from r. It computes the standard
//     error of each in closed form, but uses at least a quarter of the sample's own.
//
// Fewer than five differences do not show a shape: PairedCI then uses Student's t alone and does not read r.
//
// The percentile and BCa bootstraps are too narrow for tens of windows, whatever the differences. TestCoverageTable measures at
// level 0.95 that the intervals of PairedCI contain the mean in 95 to 98 % of samples of 10, 30 and 100 normal, exponential,
// heavy-tailed and contended differences.
//
// No interval computed from the sample alone can allow for windows that the sample does not contain. For ten lognormal
// differences (sigma 1) PairedCI covers about 91 %, for thirty about 93 %. If one window in ten has a far larger scale, a third
// of the samples of ten contain no such window, and their intervals miss the mean. Two differences that are close by chance, or
// equal differences, also look more certain than they are.
//
// For one difference the interval is (-Inf, +Inf). For equal differences c it is [c, c]. Without differences, or with a NaN or an
// infinity among them, it is (NaN, NaN). PairedCI panics if level is outside (0, 1) or resamples is below 1.
func PairedCI(diffs []float64, level float64, resamples int, r *rand.Rand) (lo, hi float64) {
	checkInterval(level, resamples)
	n := float64(len(diffs))
	mean := Mean(diffs)
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return math.NaN(), math.NaN()
	}
	if len(diffs) == 1 {
		return math.Inf(-1), math.Inf(1)
	}
	sd := StdDev(diffs)
	if sd == 0 {
		return diffs[0], diffs[0]
	}
	tail := (1 - level) / 2
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1 - tail)
	if len(diffs) < bootstrapFrom {
		half := student * sd / math.Sqrt(n)
		return mean - half, mean + half
	}
	se := sd / math.Sqrt(n)
	left, right := bootstrapT(diffs, mean, se, tail, resamples, r)
	return mean - se*max(student, right), mean - se*min(-student, left)
}

// bootstrapT returns the tail-quantile and the (1-tail)-quantile of t over resamples of xs. Here t is the mean of the resample
// minus the mean of xs, divided by the standard error of the resample.
func bootstrapT(xs []float64, mean, se, tail float64, resamples int, r *rand.Rand) (left, right float64) {
	n := float64(len(xs))
	dev := make([]float64, len(xs)) // deviations in standard errors: keeps the precision of the sum of squares
	for i, x := range xs {
		dev[i] = (x - mean) / se
	}
	t := make([]float64, resamples)
	for k := range t {
		var sum, squares float64
		for range dev {
			d := dev[r.IntN(len(dev))]
			sum += d
			squares += d * d
		}
		m := sum / n
		variance := max(0, squares/n-m*m) / (n - 1) // of the mean m
		t[k] = m / max(leastError, math.Sqrt(variance))
	}
	slices.Sort(t)
	return QuantileSorted(t, tail), QuantileSorted(t, 1-tail)
}

func checkInterval(level float64, resamples int) {
	if !(level > 0 && level < 1) {
		panic("stats: confidence level outside (0, 1)")
	}
	if resamples < 1 {
		panic("stats: bootstrap without resamples")
	}
}

// outer sorts values and returns the two quantiles with the fraction level of the values between them.
func outer(values []float64, level float64) (lo, hi float64) {
	slices.Sort(values)
	tail := (1 - level) / 2
	return QuantileSorted(values, tail), QuantileSorted(values, 1-tail)
}
