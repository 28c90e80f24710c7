package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDraw checks mean and standard deviation of first weights, and that equal random numbers give equal weights.
func TestDraw(t *testing.T) {
	const in, out = 50, 400
	w, again := make([]float32, in*out), make([]float32, in*out)
	Draw(w, He(in), rand.New(rand.NewPCG(1, 2)))
	Draw(again, He(in), rand.New(rand.NewPCG(1, 2)))
	sum, squares := 0.0, 0.0
	for i, x := range w {
		if x != again[i] {
			t.Fatalf("weight %d is %v, and then %v", i, x, again[i])
		}
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	mean, deviation := sum/float64(len(w)), math.Sqrt(squares/float64(len(w)))
	if math.Abs(mean) > 0.005 || math.Abs(deviation-0.2) > 0.005 { // 0.2 is the root of 2/50
		t.Errorf("mean %v and standard deviation %v, want 0 and 0.2", mean, deviation)
	}
}
