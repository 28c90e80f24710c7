//go:build !amd64.v3 && !openblas

package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLanesGiveTheSameBits checks that every kernel gives the same bits with the assembly loops and without. From GOAMD64=v3 on,
// Go fuses products and sums, so the results differ in the last bits.
func TestLanesGiveTheSameBits(t *testing.T) {
	if !lanes {
		t.Skip("this processor has none")
	}
	defer func() { lanes = true }()
	r := rand.New(rand.NewPCG(1, 3))
	// both runs f with lanes and without. A slice of start has the content that f finds and changes.
	both := func(what string, shape any, start []float32, f func(dst []float32)) {
		t.Helper()
		want, got := slices.Clone(start), slices.Clone(start)
		lanes = false
		f(want)
		lanes = true
		f(got)
		for i, w := range want {
			if math.Float32bits(got[i]) != math.Float32bits(w) && (got[i] == got[i] || w == w) { // a NaN has many bits
				t.Fatalf("%s %+v: element %d is %g, without lanes %g", what, shape, i, got[i], w)
			}
		}
	}
	for range 600 {
		s := drawProduct(r)
		a, b := s.operands(func(n int) []float32 { return numbers(r, n) })
		both("product", s, numbers(r, s.m*(s.n+s.more)), func(dst []float32) {
			Gemm(Mat(dst, s.m, s.n+s.more).Columns(s.more, s.n), s.alpha, a, b, s.beta)
		})
	}
	for range 300 {
		rows, cols, far := r.IntN(11), 1+r.IntN(70), float32(int(1)<<r.IntN(8)) // so that some scores are too low to count
		mask, full := make([]float32, cols), r.IntN(2) == 0
		for i := range mask {
			if mask[i] = 1; !full {
				mask[i] = float32(r.IntN(2))
			}
		}
		x := numbers(r, rows*cols)
		for i := range x {
			x[i] *= far
		}
		spoil(r, x)
		both("softmax", [2]int{rows, cols}, x, func(dst []float32) { Softmax(dst, mask) })
		g := numbers(r, rows*cols)
		spoil(r, g)
		both("softmax gradient", [2]int{rows, cols}, g, func(dst []float32) { SoftmaxBack(dst, x, cols) })
	}
	for range 300 {
		rows, d := r.IntN(11), 1+r.IntN(70)
		if r.IntN(2) == 0 {
			d = 8 * (1 + r.IntN(9))
		}
		x, gain, bias, dy := numbers(r, rows*d), numbers(r, d), numbers(r, d), numbers(r, rows*d)
		spoil(r, x)
		both("layer norm", [2]int{rows, d}, make([]float32, rows*d), func(y []float32) { LayerNorm(y, x, gain, bias) })
		both("layer norm gradient", [2]int{rows, d}, make([]float32, rows*d+2*d), func(all []float32) {
			LayerNormBack(all[2*d:], all[:d], all[d:2*d], dy, x, gain)
		})
		both("sum of rows", [2]int{rows, d}, numbers(r, d), func(dst []float32) { SumRows(dst, x) })
	}
}

// product is a shape of Gemm. Matrices are stored inside wider ones, which have more columns before them.
type product struct {
	m, n, k, more int
	alpha, beta   float32
	aT, bT        bool
}

func drawProduct(r *rand.Rand) product {
	return product{
		1 + r.IntN(40), 1 + r.IntN(150>>r.IntN(5)), 1 + r.IntN(90<<r.IntN(4)), r.IntN(5), []float32{1, -0.3}[r.IntN(2)],
		[]float32{0, 1, 0.7}[r.IntN(3)], r.IntN(2) == 0, r.IntN(2) == 0,
	}
}

// operands draws both matrices. make returns a slice of n numbers.
func (s *product) operands(make func(n int) []float32) (a, b Matrix[float32]) {
	draw := func(rows, cols int, trans bool) Matrix[float32] {
		if trans {
			return Mat(make(cols*(rows+s.more)), cols, rows+s.more).Columns(s.more, rows).T()
		}
		return Mat(make(rows*(cols+s.more)), rows, cols+s.more).Columns(s.more, cols)
	}
	return draw(s.m, s.k, s.aT), draw(s.k, s.n, s.bT)
}

// numbers draws n numbers, of which about a fourth are 0.
func numbers(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		if x[i] = float32(r.NormFloat64()); r.IntN(4) == 0 {
			x[i] = 0
		}
	}
	return x
}

// spoil puts infinities, NaN and denormal numbers into some of the slices that it is given.
func spoil(r *rand.Rand, x []float32) {
	if len(x) == 0 || r.IntN(3) > 0 {
		return
	}
	for range r.IntN(4) {
		x[r.IntN(len(x))] = []float32{
			float32(math.Inf(-1)), float32(math.Inf(1)), float32(math.NaN()), -87.3, 90, 1e-42, -1e-42,
		}[r.IntN(7)]
	}
}

func TestProductsKeepInfinityAndNaN(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, n := range []int{1, 8, 17, 40} {
		b := make([]float32, 2*n)
		for i := range n {
			b[i], b[n+i] = inf, 1
		}
		got := make([]float32, 3*n)
		Gemm(Mat(got, 3, n), 1, Mat([]float32{1, 1, 1, nan, -1, 1}, 3, 2), Mat(b, 2, n), 0)
		for j := range n {
			if got[j] != inf || got[n+j] == got[n+j] || got[2*n+j] != -inf {
				t.Fatalf("column %d of %d is %g, %g and %g, want +Inf, NaN and -Inf", j, n, got[j], got[n+j], got[2*n+j])
			}
		}
	}
}
