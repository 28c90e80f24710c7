package attention_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/attention"
)

// TestProbabilitiesAreThoseOfForward checks the probabilities by an output: if every column of a value is the same, and values and
// outputs are not projected, then the mean of an output's columns is the mean of the values, weighted by the probabilities.
func TestProbabilitiesAreThoseOfForward(t *testing.T) {
	const nq, nk, d, heads = 5, 7, 12, 3
	rng := rand.New(rand.NewPCG(3, 4))
	w := weights(rng, d)
	one := make([]float32, d*d)
	for i := range d {
		one[i*d+i] = 1
	}
	w.Wv, w.Wo, w.Bv, w.Bo = one, one, make([]float32, d), make([]float32, d)
	h := attention.Heads[float32]{Width: d, Heads: heads, Reference: 4, Weights: w}
	x, y, values := normal(rng, nq*d), make([]float32, nk*d), normal(rng, nk)
	for i := range y {
		y[i] = values[i/d]
	}
	mask := []float32{1, 1, 0, 1, 1, 1, 1}
	out, p := make([]float32, nq*d), make([]float32, nk)
	h.Forward(out, x, y, mask, 1, nq, nk)
	for q := range nq {
		h.Probabilities(p, mask, q)
		var sum, want, got float64
		for k, v := range p {
			sum += float64(v)
			got += float64(v * values[k])
		}
		for _, v := range out[q*d : (q+1)*d] {
			want += float64(v) / d
		}
		if math.Abs(sum-1) > 1e-6 || p[2] != 0 || math.Abs(got-want) > 1e-5 {
			t.Errorf("query %d: sum %v, masked key %v, mean value %v, want 1, 0 and %v", q, sum, p[2], got, want)
		}
	}
}
