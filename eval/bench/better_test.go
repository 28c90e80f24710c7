package bench

import (
	"math/rand/v2"
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
