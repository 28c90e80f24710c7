// Package stats contains the statistics that training and evaluation share: means, quantiles and confidence intervals. It does
// not depend on what the numbers measure.
//
// No function changes its input. The caller passes the source of random numbers, so equal arguments give equal results.
package stats

import (
	"math"
	"slices"
)

// Mean returns the arithmetic mean of xs, NaN if xs is empty.
func Mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// StdDev returns the sample standard deviation of xs (divisor n-1), NaN for fewer than two numbers.
func StdDev(xs []float64) float64 {
	var w Welford
	for _, x := range xs {
		w.Add(x)
	}
	return w.StdDev()
}

// Quantile returns the p-quantile of xs by linear interpolation between the sorted values (type 7 of Hyndman and Fan 1996, the
// default of R and NumPy): with h = (n-1)p, it is the fraction h-⌊h⌋ of the way from the ⌊h⌋-th smallest value to the next,
// counted from zero. It returns NaN if xs is empty or contains a NaN, and panics if p is outside [0, 1].
func Quantile(xs []float64, p float64) float64 {
	return QuantileSorted(slices.Sorted(slices.Values(xs)), p)
}

// QuantileSorted is Quantile for numbers in ascending order, for callers that need several quantiles.
func QuantileSorted(xs []float64, p float64) float64 {
	if !(p >= 0 && p <= 1) {
		panic("stats: quantile outside [0, 1]")
	}
	n := len(xs)
	if n == 0 || math.IsNaN(xs[0]) { // NaN sorts first
		return math.NaN()
	}
	h := float64(n-1) * p
	i := int(h)
	if i+1 >= n || xs[i] == xs[i+1] { // equal neighbours may be infinite, and Inf-Inf is NaN
		return xs[i]
	}
	f := h - float64(i)
	if f == 0 {
		return xs[i]
	}
	return xs[i] + f*(xs[i+1]-xs[i])
}

// Welford computes the mean and the variance of a stream in one pass without cancellation (Welford 1962). The zero value is ready
// to use. It is not safe for concurrent use. Its fields are exported so that a checkpoint can contain it.
type Welford struct {
	N  int64   `json:"n"`    // count of numbers
	M  float64 `json:"mean"` // their mean
	SS float64 `json:"ss"`   // sum of squared deviations from the mean
}

// Add adds one number.
func (w *Welford) Add(x float64) {
	w.N++
	d := x - w.M
	w.M += d / float64(w.N)
	w.SS += d * (x - w.M)
}

// Var returns the sample variance so far (divisor n-1), NaN before the second number.
func (w *Welford) Var() float64 {
	if w.N < 2 {
		return math.NaN()
	}
	return w.SS / float64(w.N-1)
}

// StdDev returns the square root of Var.
func (w *Welford) StdDev() float64 { return math.Sqrt(w.Var()) }
