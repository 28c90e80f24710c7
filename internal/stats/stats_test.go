package stats_test

import (
	"math"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
	"pgregory.net/rapid"
)

var inf, nan = math.Inf(1), math.NaN()

func near(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		name string
		xs   []float64
		p    float64
		want float64
	}{
		{"none", nil, 0.5, nan},
		{"one is every quantile", []float64{3}, 0.9, 3},
		{"median of two is half-way", []float64{4, 2}, 0.5, 3},
		{"lowest", []float64{3, 1, 2}, 0, 1},
		{"highest", []float64{3, 1, 2}, 1, 3},
		{"quarter of 1..4 as in R and NumPy", []float64{1, 2, 3, 4}, 0.25, 1.75},
		{"p90 of 1..11", []float64{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 0.9, 10},
		{"a NaN spoils it", []float64{1, nan, 3}, 0.5, nan},
		{"infinite neighbours", []float64{1, inf, inf}, 0.75, inf},
		{"an exact rank does not touch an infinite neighbour", []float64{1, 2, inf}, 0.5, 2},
	} {
		in := slices.Clone(c.xs)
		if got := stats.Quantile(in, c.p); !near(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if len(in) > 1 && in[0] != c.xs[0] {
			t.Errorf("%s: the input was reordered", c.name)
		}
	}
}

func TestProgrammerMistakesPanic(t *testing.T) {
	r := rng.Stream(1)
	for name, f := range map[string]func(){
		"quantile above 1":    func() { stats.Quantile([]float64{1}, 1.1) },
		"quantile NaN":        func() { stats.Quantile([]float64{1}, nan) },
		"level 95":            func() { stats.PairedCI([]float64{1, 2}, 95, 10, r) },
		"no resamples":        func() { stats.PairedCI([]float64{1, 2}, 0.95, 0, r) },
		"IQM at level 0":      func() { stats.IQMCI([][]float64{{1, 2}}, 0, 10, r) },
		"IQM of no resamples": func() { stats.IQMCI([][]float64{{1, 2}}, 0.95, 0, r) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not panic", name)
				}
			}()
			f()
		}()
	}
}

// TestQuantileAgainstPlainLoop checks that Quantile equals its definition, computed with a plain insertion sort and
// interpolation.
func TestQuantileAgainstPlainLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 40).Draw(t, "xs")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		sorted := slices.Clone(xs)
		for i := range sorted {
			for j := i; j > 0 && sorted[j] < sorted[j-1]; j-- {
				sorted[j], sorted[j-1] = sorted[j-1], sorted[j]
			}
		}
		h := p * float64(len(xs)-1)
		lo, hi := sorted[int(math.Floor(h))], sorted[int(math.Ceil(h))]
		want := lo*(1-(h-math.Floor(h))) + hi*(h-math.Floor(h))
		if got := stats.Quantile(xs, p); !near(got, want) {
			t.Fatalf("Quantile(%v, %v) = %v, want %v", xs, p, got, want)
		}
	})
}

// TestWelfordAgainstPlainLoops checks that Welford's mean and variance equal those of two plain loops.
func TestWelfordAgainstPlainLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 0, 40).Draw(t, "xs")
		var w stats.Welford
		for _, x := range xs {
			w.Add(x)
		}

		sum, ss := 0.0, 0.0
		for _, x := range xs {
			sum += x
		}
		mean := sum / float64(len(xs))
		for _, x := range xs {
			ss += (x - mean) * (x - mean)
		}
		variance := nan
		if len(xs) > 1 {
			variance = ss / float64(len(xs)-1)
		}
		if len(xs) > 0 && !near(w.M, mean) || !near(w.Var(), variance) || w.N != int64(len(xs)) {
			t.Fatalf("n %d mean %v var %v, want %d %v %v", w.N, w.M, w.Var(), len(xs), mean, variance)
		}
		if got := stats.Mean(xs); !near(got, mean) {
			t.Fatalf("Mean = %v, want %v", got, mean)
		}
		if got := stats.StdDev(xs); !near(got, math.Sqrt(variance)) {
			t.Fatalf("StdDev = %v, want %v", got, math.Sqrt(variance))
		}
	})
}

func TestWelfordKeepsDigits(t *testing.T) {
	var w stats.Welford
	for _, x := range []float64{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16} {
		w.Add(x)
	}
	if w.Var() != 30 {
		t.Errorf("variance %v, want 30: cancellation", w.Var())
	}
}
