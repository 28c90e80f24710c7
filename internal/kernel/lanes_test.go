//go:build !amd64.v3 && !openblas

package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLanesGiveTheSameBits checks that products and softmax give the same bits with the assembly loops and without. From
// GOAMD64=v3 on, Go fuses products and sums, so the results differ in the last bits.
func TestLanesGiveTheSameBits(t *testing.T) {
	if !lanes {
		t.Skip("this processor has none")
	}
	defer func() { lanes = true }()
	r := rand.New(rand.NewPCG(1, 3))
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			if x[i] = float32(r.NormFloat64()); r.IntN(4) == 0 {
				x[i] = 0
			}
		}
		return x
	}
	both := func(what string, shape any, n int, f func(dst []float32)) {
		t.Helper()
		start := numbers(n)
		want, got := append([]float32(nil), start...), start
		lanes = false
		f(want)
		lanes = true
		f(got)
		for i, w := range want {
			if math.Float32bits(got[i]) != math.Float32bits(w) {
				t.Fatalf("%s %+v: element %d is %x, without lanes %x", what, shape, i, got[i], w)
			}
		}
	}
	for range 400 {
		type product struct {
			m, n, k, more int
			alpha, beta   float32
		}
		s := product{1 + r.IntN(40), 1 + r.IntN(150), 1 + r.IntN(90), r.IntN(5), []float32{1, -0.3}[r.IntN(2)],
			[]float32{0, 1, 0.7}[r.IntN(3)]}
		a := Mat(numbers(s.m*(s.k+s.more)), s.m, s.k+s.more).Columns(s.more, s.k)
		b := Mat(numbers(s.k*(s.n+s.more)), s.k, s.n+s.more).Columns(s.more, s.n)
		both("product", s, s.m*(s.n+s.more), func(dst []float32) {
			Gemm(Mat(dst, s.m, s.n+s.more).Columns(s.more, s.n), s.alpha, a, b, s.beta)
		})
	}
	for range 200 {
		rows, cols, far := r.IntN(11), 1+r.IntN(70), float32(int(1)<<r.IntN(8)) // so that some scores are too low to count
		mask := make([]float32, cols)
		for i := range mask {
			mask[i] = 1
		}
		both("softmax", [2]int{rows, cols}, rows*cols, func(dst []float32) {
			for i := range dst {
				dst[i] *= far
			}
			Softmax(dst, mask)
		})
	}
	// Infinities and NaN are the same in both versions.
	for range 200 {
		x := numbers(1 + r.IntN(40))
		for range r.IntN(4) {
			x[r.IntN(len(x))] = []float32{float32(math.Inf(-1)), float32(math.Inf(1)), float32(math.NaN()), -87.3, 90}[r.IntN(5)]
		}
		mask := make([]float32, len(x))
		for i := range mask {
			mask[i] = 1
		}
		want := append([]float32(nil), x...)
		softmax(want, mask)
		softmaxRows(x, len(x))
		for i, w := range want {
			if math.Float32bits(x[i]) != math.Float32bits(w) && (x[i] == x[i] || w == w) {
				t.Fatalf("softmax of %d: element %d is %x, without lanes %x", len(x), i, x[i], w)
			}
		}
	}
}
