package attention_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/internal/plain"
)

func normal(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// weights returns random weights, scaled so that outputs are near 1.
func weights(rng *rand.Rand, d int) attention.Weights[float32] {
	w := func() []float32 {
		x := normal(rng, d*d)
		for i := range x {
			x[i] /= float32(math.Sqrt(float64(d)))
		}
		return x
	}
	b := func() []float32 { return normal(rng, d) }
	return attention.Weights[float32]{Wq: w(), Bq: b(), Wk: w(), Bk: b(), Wv: w(), Bv: b(), Wo: w(), Bo: b()}
}

// loops computes a layer with plain loops in double precision.
func loops(w attention.Weights[float32], x, y, mask []float32, batch, nq, nk, d, heads, reference int) []complex128 {
	wide := func(x []float32) []complex128 {
		out := make([]complex128, len(x))
		for i, v := range x {
			out[i] = complex(float64(v), 0)
		}
		return out
	}
	project := func(x []complex128, w, b []float32) []complex128 {
		return plain.Dense(x, wide(w), wide(b), d, d, plain.Identity)
	}
	o := plain.Attention(project(wide(x), w.Wq, w.Bq), project(wide(y), w.Wk, w.Bk), project(wide(y), w.Wv, w.Bv), wide(mask),
		batch, nq, nk, d, heads, reference)
	return project(o, w.Wo, w.Bo)
}

func TestForwardEqualsPlainLoops(t *testing.T) {
	for _, s := range []struct {
		name                                  string
		batch, nq, nk, width, head, reference int
	}{
		{"small", 3, 4, 5, 6, 2, 0},
		{"production, servers to jobs", 3, 64, 48, 32, 4, 0},
		{"production, jobs to servers", 3, 48, 64, 32, 4, 32},
		{"production, points to many servers", 3, 4, 1024, 32, 4, 32},
		{"production, servers to points", 3, 1024, 4, 32, 4, 0},
		{"one of everything", 1, 1, 1, 1, 1, 1},
	} {
		t.Run(s.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			h := attention.Heads[float32]{Width: s.width, Heads: s.head, Reference: s.reference, Weights: weights(rng, s.width)}
			x, y := normal(rng, s.batch*s.nq*s.width), normal(rng, s.batch*s.nk*s.width)
			mask := make([]float32, s.batch*s.nk)
			for i := range mask {
				if i/s.nk != 1 && rng.IntN(4) > 0 { // the second group has no valid key
					mask[i] = 1
				}
			}
			got := make([]float32, len(x))
			h.Forward(got, x, y, mask, s.batch, s.nq, s.nk)
			for i, want := range loops(h.Weights, x, y, mask, s.batch, s.nq, s.nk, s.width, s.head, s.reference) {
				if math.Abs(float64(got[i])-real(want)) > 1e-5 {
					t.Fatalf("output %d is %g, want %g", i, got[i], real(want))
				}
			}
		})
	}
}

// permute moves row i of x to row order[i].
func permute(x []float32, order []int, d int) []float32 {
	out := make([]float32, len(x))
	for i, to := range order {
		copy(out[to*d:(to+1)*d], x[i*d:(i+1)*d])
	}
	return out
}

func TestPermutingServersPermutesOutputsAndPermutingKeysChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heads := rapid.IntRange(1, 4).Draw(t, "heads")
		d := heads * rapid.IntRange(1, 8).Draw(t, "width of a head")
		nq, nk := rapid.IntRange(1, 20).Draw(t, "queries"), rapid.IntRange(1, 20).Draw(t, "keys")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		mask := make([]float32, nk)
		for i, valid := range rapid.SliceOfN(rapid.Bool(), nk, nk).Draw(t, "valid") {
			if valid {
				mask[i] = 1
			}
		}
		h := attention.Heads[float32]{Width: d, Heads: heads, Weights: weights(rng, d)}
		x, y := normal(rng, nq*d), normal(rng, nk*d)
		want, got := make([]float32, nq*d), make([]float32, nq*d)
		h.Forward(want, x, y, mask, 1, nq, nk)
		queries, keys := rng.Perm(nq), rng.Perm(nk)
		h.Forward(got, permute(x, queries, d), permute(y, keys, d), permute(mask, keys, 1), 1, nq, nk)
		for i, w := range permute(want, queries, d) {
			if math.Abs(float64(got[i]-w)) > 1e-6*(1+math.Abs(float64(w))) {
				t.Fatalf("output %d is %g, want %g", i, got[i], w)
			}
		}
	})
}

func TestForwardAllocatesNothingAndRepeatsItself(t *testing.T) {
	const n, k, d = 64, 48, 32
	rng := rand.New(rand.NewPCG(1, 2))
	h := attention.Heads[float32]{Width: d, Heads: 4, Weights: weights(rng, d)}
	x, y, mask := normal(rng, n*d), normal(rng, k*d), normal(rng, k)
	dst, first := make([]float32, n*d), make([]float32, n*d)
	h.Forward(first, x, y, mask, 1, n, k)
	if allocs := testing.AllocsPerRun(3, func() { h.Forward(dst, x, y, mask, 1, n, k) }); allocs != 0 {
		t.Errorf("forward allocates %g times", allocs)
	}
	if !slices.Equal(dst, first) {
		t.Error("a second forward differs")
	}
}

func BenchmarkForward(b *testing.B) {
	const n, k, d = 32, 48, 32
	rng := rand.New(rand.NewPCG(1, 2))
	h := attention.Heads[float32]{Width: d, Heads: 4, Weights: weights(rng, d)}
	x, y, mask, dst := normal(rng, n*d), normal(rng, k*d), normal(rng, k), make([]float32, n*d)
	b.ReportAllocs()
	for b.Loop() {
		h.Forward(dst, x, y, mask, 1, n, k)
	}
}
