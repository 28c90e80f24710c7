package stats_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
	"pgregory.net/rapid"
)

func TestIQM(t *testing.T) {
	for _, c := range []struct {
		name string
		xs   []float64
		want float64
	}{
		{"none", nil, nan},
		{"one", []float64{3}, 3},
		{"three are too few to drop any", []float64{1, 2, 9}, 4},
		{"four lose one at either end", []float64{100, 2, 4, -100}, 3},
		{"seven still lose one", []float64{100, 1, 2, 3, 4, 5, -100}, 3},
		{"eight lose two", []float64{100, 90, 1, 2, 3, 6, -90, -100}, 3},
		{"scipy's trim_mean at 0.25 of ten", []float64{19, 18, 0, 7, 7, 6, 5, 4, 3, 100}, 47.0 / 6},
		{"dropped infinities", []float64{-inf, 1, 3, inf}, 2},
		{"a NaN spoils it", []float64{1, 2, nan, 3, 4}, nan},
	} {
		in := slices.Clone(c.xs)
		if got := stats.IQM(in); !near(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if len(in) > 0 && in[0] != c.xs[0] {
			t.Errorf("%s: the input was reordered", c.name)
		}
	}
}

// plainIQM computes the interquartile mean naively: it removes the smallest and the largest number in turn, each ⌊n/4⌋ times, and
// averages the rest.
func plainIQM(xs []float64) float64 {
	rest := slices.Clone(xs)
	for range len(xs) / 4 {
		i := slices.Index(rest, slices.Min(rest))
		rest = slices.Delete(rest, i, i+1)
		i = slices.Index(rest, slices.Max(rest))
		rest = slices.Delete(rest, i, i+1)
	}
	sum := 0.0
	for _, x := range rest {
		sum += x
	}
	return sum / float64(len(rest))
}

func TestIQMAgainstPlainLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 1, 60).Draw(t, "xs")
		if got, want := stats.IQM(xs), plainIQM(xs); !near(got, want) {
			t.Fatalf("IQM(%v) = %v, want %v", xs, got, want)
		}
	})
}

func TestIQMCIWithoutResampling(t *testing.T) {
	for _, c := range []struct {
		name   string
		strata [][]float64
		lo, hi float64
	}{
		{"no strata", nil, nan, nan},
		{"empty strata", [][]float64{{}, {}}, nan, nan},
		{"a NaN spoils it", [][]float64{{1, 2}, {nan, 3}}, nan, nan},
		{"one seed a window says nothing about seeds", [][]float64{{1}, {2}, {3}}, -inf, inf},
	} {
		lo, hi := stats.IQMCI(c.strata, 0.95, 100, nil)
		if !near(lo, c.lo) || !near(hi, c.hi) {
			t.Errorf("%s: [%v, %v], want [%v, %v]", c.name, lo, hi, c.lo, c.hi)
		}
	}
}

// plainIQMCI is a naive version of IQMCI: it pools each resample and computes its IQM anew.
func plainIQMCI(strata [][]float64, level float64, resamples int, r *rand.Rand) (lo, hi float64) {
	var values []float64
	for range resamples {
		var pool []float64
		for _, stratum := range strata {
			for range stratum {
				pool = append(pool, stratum[r.IntN(len(stratum))])
			}
		}
		values = append(values, plainIQM(pool))
	}
	return stats.Quantile(values, (1-level)/2), stats.Quantile(values, (1+level)/2)
}

// strataOf draws windows with different numbers of seeds, at least one of them with two seeds. Ties are common.
func strataOf(t *rapid.T) [][]float64 {
	member := rapid.Map(rapid.IntRange(-40, 40), func(i int) float64 { return float64(i) / 4 })
	strata := rapid.SliceOfN(rapid.SliceOfN(member, 0, 6), 0, 8).Draw(t, "strata")
	return append(strata, rapid.SliceOfN(member, 2, 6).Draw(t, "last stratum"))
}

func TestIQMCIAgainstPlainLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strata := strataOf(t)
		level := rapid.SampledFrom([]float64{0.5, 0.9, 0.95}).Draw(t, "level")
		seed := rapid.Uint64().Draw(t, "seed")
		lo, hi := stats.IQMCI(strata, level, 60, rng.Stream(seed))
		wantLo, wantHi := plainIQMCI(strata, level, 60, rng.Stream(seed))
		if !near(lo, wantLo) || !near(hi, wantHi) {
			t.Fatalf("[%v, %v], want [%v, %v]", lo, hi, wantLo, wantHi)
		}
	})
}

// TestIQMCIProperties checks, on one random stream, that the interval shifts and scales with the numbers and is mirrored with
// their sign.
func TestIQMCIProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strata := strataOf(t)
		shift := float64(rapid.IntRange(-1000, 1000).Draw(t, "shift"))
		scale := rapid.SampledFrom([]float64{-8, -1, 0.25, 3600}).Draw(t, "scale")
		seed := rapid.Uint64().Draw(t, "seed")
		lo, hi := stats.IQMCI(strata, 0.95, 60, rng.Stream(seed))
		moved := make([][]float64, len(strata))
		for s, stratum := range strata {
			for _, x := range stratum {
				moved[s] = append(moved[s], shift+scale*x)
			}
		}
		gotLo, gotHi := stats.IQMCI(moved, 0.95, 60, rng.Stream(seed))
		wantLo, wantHi := shift+scale*lo, shift+scale*hi
		if scale < 0 {
			wantLo, wantHi = wantHi, wantLo
		}
		if !near(gotLo, wantLo) || !near(gotHi, wantHi) {
			t.Fatalf("%v + %v*strata: [%v, %v], want [%v, %v]", shift, scale, gotLo, gotHi, wantLo, wantHi)
		}
	})
}

// TestIQMCIHoldsWindowsFixed checks that the interval has width 0 if the seeds agree within each window, however much the windows
// differ.
func TestIQMCIHoldsWindowsFixed(t *testing.T) {
	strata := [][]float64{{1, 1}, {20, 20, 20}, {300}, {4000, 4000}}
	lo, hi := stats.IQMCI(strata, 0.95, 100, rng.Stream(1))
	if want := stats.IQM(slices.Concat(strata...)); lo != want || hi != want {
		t.Errorf("[%v, %v], want %v alone", lo, hi, want)
	}
}

// TestIQMCIDropsInfinities checks that the numbers that the IQM drops may be infinite.
func TestIQMCIDropsInfinities(t *testing.T) {
	strata := [][]float64{{-inf, -inf}, {1, 1}, {3, 3}, {inf, inf}}
	if lo, hi := stats.IQMCI(strata, 0.95, 100, rng.Stream(1)); lo != 2 || hi != 2 {
		t.Errorf("[%v, %v], want 2 alone", lo, hi)
	}
}
