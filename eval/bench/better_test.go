package bench

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBetterNeedsNoSorting checks that counting draws says the same as sorting them, also where the end of the interval is close
// to 0 or between two draws.
func TestBetterNeedsNoSorting(t *testing.T) {
	yes, no, between := 0, 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := []int{2, 39, 40, 41, 400}[r.IntN(5)]
		a, b := &scored{draws: make([]float64, n)}, &scored{draws: make([]float64, n)}
		for i := range n {
			a.draws[i] = float64(r.IntN(40)) - 38 + r.Float64()*float64(r.IntN(2))
		}
		want := betterSorted(a, b)
		if got := better(a, b); got != want {
			t.Errorf("seed %d, %d draws: %v, want %v", seed, n, got, want)
		}
		if want {
			yes++
		} else {
			no++
		}
		if _, hi := ends(a.draws); hi > -1 && hi < 1 {
			between++
		}
	}
	if min(yes, no, between) < 20 {
		t.Errorf("%d better, %d not, %d ends close to 0, want 20 of each", yes, no, between)
	}
}

// BenchmarkRankThousandRows places a thousand rows that differ little.
func BenchmarkRankThousandRows(b *testing.B) {
	all := make([]scored, 1000)
	for i := range all {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		all[i].mean = r.NormFloat64()
		all[i].draws = make([]float64, resamples)
		for k := range all[i].draws {
			all[i].draws[k] = all[i].mean + 0.1*r.NormFloat64()
		}
	}
	for b.Loop() {
		place(slices.Clone(all))
	}
}
