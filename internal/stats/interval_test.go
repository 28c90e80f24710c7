package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
	"pgregory.net/rapid"
)

func TestPairedCIWithoutResampling(t *testing.T) {
	for _, c := range []struct {
		name   string
		diffs  []float64
		lo, hi float64
	}{
		{"none", nil, nan, nan},
		{"one bounds nothing", []float64{5}, -inf, inf},
		{"one that is NaN", []float64{nan}, nan, nan},
		{"a NaN spoils it", []float64{1, nan, 2}, nan, nan},
		{"an infinity spoils it", []float64{1, inf, 2}, nan, nan},
		{"opposite infinities spoil it", []float64{-inf, inf, 2}, nan, nan},
		{"equal differences leave no doubt", []float64{2, 2, 2}, 2, 2},
		{"nor do many", slices.Repeat([]float64{0.1}, 30), 0.1, 0.1},
		{"no difference anywhere", make([]float64, 10), 0, 0},
	} {
		lo, hi := stats.PairedCI(c.diffs, 0.95, 100, nil)
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if !same(lo, c.lo) || !same(hi, c.hi) {
			t.Errorf("%s: [%v, %v], want [%v, %v]", c.name, lo, hi, c.lo, c.hi)
		}
	}
}

func TestPairedCIByHand(t *testing.T) {
	for _, c := range []struct {
		name   string
		diffs  []float64
		lo, hi float64
	}{
		// s/√n = 1 and t(1, 0.975) = 12.7062047362.
		{"two by Student's t", []float64{-1, 1}, -12.706204736174694, 12.706204736174694},
		// s/√n = √3 and t(3, 0.975) = 3.1824463053.
		{"four by Student's t, however skewed", []float64{0, 0, 0, 4 * math.Sqrt(3)},
			math.Sqrt(3) * (1 - 3.1824463052837078), math.Sqrt(3) * (1 + 3.1824463052837078)},
		// t(9, 0.975) = 2.2621571628. Most resamples contain the one wide window once or not at all. With probability 0.35 a resample
		// does not contain it, and then t = -1/0.25.
		{"one window in ten differs", []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 10}, 1 - 2.2621571627409915, 1 + 4},
	} {
		lo, hi := stats.PairedCI(c.diffs, 0.95, 2000, rng.Stream(1))
		if !near(lo, c.lo) || !near(hi, c.hi) {
			t.Errorf("%s: [%v, %v], want [%v, %v]", c.name, lo, hi, c.lo, c.hi)
		}
	}
}

// plainPairedCI is a naive version of PairedCI for five differences or more: it keeps the resamples, computes their standard
// errors in two passes, and does not scale. The parameter studentT is the quantile of Student's t at (1+level)/2.
func plainPairedCI(diffs []float64, level, studentT float64, resamples int, r *rand.Rand) (lo, hi float64) {
	meanAndError := func(xs []float64) (mean, err float64) {
		for _, x := range xs {
			mean += x / float64(len(xs))
		}
		for _, x := range xs {
			err += (x - mean) * (x - mean)
		}
		return mean, math.Sqrt(err / float64(len(xs)-1) / float64(len(xs)))
	}
	mean, err := meanAndError(diffs)
	var ts []float64
	for range resamples {
		var pick []float64
		for range diffs {
			pick = append(pick, diffs[r.IntN(len(diffs))])
		}
		m, e := meanAndError(pick)
		ts = append(ts, (m-mean)/math.Max(e, err/4))
	}
	lo = mean - err*stats.Quantile(ts, (1+level)/2)
	hi = mean - err*stats.Quantile(ts, (1-level)/2)
	return min(lo, mean-err*studentT), max(hi, mean+err*studentT)
}

// TestPairedCIAgainstPlainLoop checks that the interval depends only on the data and the random stream, and equals that of the
// naive version.
func TestPairedCIAgainstPlainLoop(t *testing.T) {
	for _, c := range []struct {
		n               int
		level, studentT float64 // from tables
	}{
		{5, 0.95, 2.7764451051977987},
		{10, 0.95, 2.2621571627409915},
		{30, 0.95, 2.045229642132703},
		{30, 0.90, 1.6991270265334972},
		{100, 0.95, 1.9842169515086827},
	} {
		for _, truth := range truths() {
			data := rng.Stream(4, "data", truth.name)
			diffs := make([]float64, c.n)
			for i := range diffs {
				diffs[i] = 50 + truth.draw(data)
			}
			before := slices.Clone(diffs)
			lo, hi := stats.PairedCI(diffs, c.level, 500, rng.Stream(4, "boot"))
			wantLo, wantHi := plainPairedCI(diffs, c.level, c.studentT, 500, rng.Stream(4, "boot"))
			if !near(lo, wantLo) || !near(hi, wantHi) {
				t.Errorf("%d of %s at %v: [%v, %v], want [%v, %v]", c.n, truth.name, c.level, lo, hi, wantLo, wantHi)
			}
			if !slices.Equal(diffs, before) {
				t.Errorf("%d of %s: the input was changed", c.n, truth.name)
			}
		}
	}
}

// TestPairedCIProperties checks, on one random stream, that the interval shifts and scales with the differences and is mirrored
// with their sign; that it contains their mean and is finite; and that a higher level gives an interval around it.
func TestPairedCIProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		diffs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 {
			return float64(rapid.IntRange(-1000, 1000).Draw(t, "difference")) / 8 // ties are common, and sums are exact
		}), 2, 40).Draw(t, "diffs")
		shift := float64(rapid.IntRange(-1000, 1000).Draw(t, "shift"))
		scale := rapid.SampledFrom([]float64{-8, -1, 0.25, 3600}).Draw(t, "scale")
		seed := rapid.Uint64().Draw(t, "seed")

		lo, hi := stats.PairedCI(diffs, 0.95, 200, rng.Stream(seed))
		moved := make([]float64, len(diffs))
		for i, d := range diffs {
			moved[i] = shift + scale*d
		}
		gotLo, gotHi := stats.PairedCI(moved, 0.95, 200, rng.Stream(seed))
		wantLo, wantHi := shift+scale*lo, shift+scale*hi
		if scale < 0 {
			wantLo, wantHi = wantHi, wantLo
		}
		if !near(gotLo, wantLo) || !near(gotHi, wantHi) {
			t.Fatalf("%v + %v*diffs: [%v, %v], want [%v, %v]", shift, scale, gotLo, gotHi, wantLo, wantHi)
		}
		if mean := stats.Mean(diffs); !(lo <= mean && mean <= hi) || math.IsInf(hi-lo, 0) {
			t.Fatalf("[%v, %v] around %v", lo, hi, mean)
		}
		if inLo, inHi := stats.PairedCI(diffs, 0.5, 200, rng.Stream(seed)); inLo < lo || inHi > hi {
			t.Fatalf("50 %% [%v, %v] sticks out of 95 %% [%v, %v]", inLo, inHi, lo, hi)
		}
	})
}
