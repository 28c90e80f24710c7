package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// bootstrapFrom is the number of differences from which resamples of them tell a shape. Three differences have ten distinct
// resamples, and a ninth of all draws repeat one number throughout; five have 126, and one draw in 625.
const bootstrapFrom = 5

// leastError is the least standard error that PairedCI believes of a resample, as a share of the sample's own. Resamples of
// a few windows often miss the wide ones and hold near-ties only; divided by their own tiny error the others' t would run
// off to infinity. A quarter costs less than half a point of coverage from ten differences on and keeps the widths in hand.
const leastError = 0.25

// PairedCI returns a two-sided confidence interval at level (such as 0.95) for the mean of paired differences, one per case
// that both policies replayed. It is the wider, at each end on its own, of two intervals around the observed mean:
//
//   - Student's t, with len(diffs)-1 degrees of freedom. It holds for normal differences and errs on the safe side for
//     symmetric ones with heavy tails, but misses on one side when the differences are skewed.
//   - The studentised bootstrap (bootstrap-t: Efron and Tibshirani 1993, section 12.5; Hall 1988), which follows the skew
//     but is too short for contended windows. The resamples, as many as asked for, are drawn from r. The standard error of
//     each is had in closed form, and counts as no less than a quarter of the sample's own.
//
// Fewer than five differences are too few to tell a shape: they have Student's t alone, and r is not read.
//
// The percentile and BCa bootstraps are too narrow for tens of windows, whatever the differences look like. Measured by
// TestCoverageTable at level 0.95, these intervals hold the mean in 95 to 98 % of samples of 10, 30 and 100 normal,
// exponential, heavy-tailed and contended differences.
//
// What no interval made of the sample alone can do is allow for windows that it has not seen. For ten lognormal differences
// (sigma 1) it covers about 91 %, for thirty about 93 %. If one window in ten is on a far worse scale, a third of the
// samples of ten have no such window, and their intervals miss the mean. Two differences close to each other by luck, or
// equal differences, likewise look more certain than they are.
//
// One difference bounds nothing: the interval is (-Inf, +Inf). Equal differences c give [c, c]. With none, or with a NaN or
// an infinity among them, it is (NaN, NaN). A level outside (0, 1) or fewer than one resample panics.
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

// bootstrapT returns the tail-quantile and the (1-tail)-quantile of t over resamples of xs, where t is the resample's mean
// less that of xs, over the resample's standard error.
func bootstrapT(xs []float64, mean, se, tail float64, resamples int, r *rand.Rand) (left, right float64) {
	n := float64(len(xs))
	dev := make([]float64, len(xs)) // from the mean, in standard errors: keeps the digits of the sum of squares
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
		variance := max(0, squares/n-m*m) / (n - 1) // of m
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

// outer returns the two quantiles of values between which a share of level lies; it sorts them.
func outer(values []float64, level float64) (lo, hi float64) {
	slices.Sort(values)
	tail := (1 - level) / 2
	return QuantileSorted(values, tail), QuantileSorted(values, 1-tail)
}
