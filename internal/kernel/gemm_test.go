package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/internal/plain"
)

// real32 is a named type: Gemm must handle slices of named types too.
type real32 float32

// stored is a matrix of rows x cols, stored inside a wider one, as views in both precisions.
type stored struct {
	data   []float64
	data32 []real32
	m      kernel.Matrix[float64]
	m32    kernel.Matrix[real32]
	index  func(i, j int) int
}

// store draws a matrix. If transposed, it is stored as cols x rows.
func store(rng *rand.Rand, rows, cols int, transposed bool) stored {
	if transposed {
		s := store(rng, cols, rows, false)
		index := s.index
		s.m, s.m32, s.index = s.m.T(), s.m32.T(), func(i, j int) int { return index(j, i) }
		return s
	}
	from, stride := rng.IntN(3), cols+3
	s := stored{data: plain.Normal(rng, rows*stride), data32: make([]real32, rows*stride)}
	for i, v := range s.data {
		s.data32[i] = real32(v)
	}
	s.m = kernel.Mat(s.data, rows, stride).Columns(from, cols)
	s.m32 = kernel.Mat(s.data32, rows, stride).Columns(from, cols)
	s.index = func(i, j int) int { return i*stride + from + j }
	return s
}

func TestGemmEqualsPlainLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.OneOf(rapid.IntRange(0, 9), rapid.SampledFrom([]int{64, 65, 193, 260}))
		m, n, k := dim.Draw(t, "m"), dim.Draw(t, "n"), dim.Draw(t, "k")
		if m*n*k > 1e6 {
			k = 2
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		a := store(rng, m, k, rapid.Bool().Draw(t, "a transposed"))
		b := store(rng, k, n, rapid.Bool().Draw(t, "b transposed"))
		alpha := rapid.SampledFrom([]float64{1, 0.5, -2}).Draw(t, "alpha")
		beta := rapid.SampledFrom([]float64{0, 1, -0.5}).Draw(t, "beta")
		multiply(t, a, b, store(rng, m, n, false), alpha, beta)
	})
}

// TestNarrowGemmEqualsPlainLoops tests the sizes for which Gemm has plain loops of its own: short rows and few columns.
func TestNarrowGemmEqualsPlainLoops(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, m := range []int{1, 7, 70} {
		for n := 1; n <= 10; n++ {
			for k := range 11 {
				for _, trans := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
					for _, beta := range []float64{0, 1, -0.5} {
						a, b := store(rng, m, k, trans[0]), store(rng, k, n, trans[1])
						multiply(t, a, b, store(rng, m, n, false), -2, beta)
						multiply(t, store(rng, n, k, trans[0]), store(rng, k, m, trans[1]), store(rng, n, m, false), 1, beta)
					}
				}
			}
		}
	}
}

// multiply compares Gemm in both precisions with plain loops. With beta 0, Gemm must not read the old content of dst.
func multiply(t rapid.TB, a, b, dst stored, alpha, beta float64) {
	t.Helper()
	want := append([]float64(nil), dst.data...) // elements between the columns must not change
	for i := range dst.m.Rows {
		for j := range dst.m.Cols {
			s := beta * want[dst.index(i, j)]
			for l := range a.m.Cols {
				s += alpha * a.data[a.index(i, l)] * b.data[b.index(l, j)]
			}
			want[dst.index(i, j)] = s
			if beta == 0 {
				dst.data[dst.index(i, j)] = math.NaN()
				dst.data32[dst.index(i, j)] = real32(math.NaN())
			}
		}
	}
	kernel.Gemm(dst.m, alpha, a.m, b.m, beta)
	kernel.Gemm(dst.m32, real32(alpha), a.m32, b.m32, real32(beta))
	shape := fmt.Sprintf("[%d,%d] by [%d,%d]", a.m.Rows, a.m.Cols, b.m.Rows, b.m.Cols)
	for i, w := range want {
		if d := math.Abs(dst.data[i] - w); !(d <= 1e-11*(1+math.Abs(w))) {
			t.Fatalf("%s: float64 element %d is %g, want %g", shape, i, dst.data[i], w)
		}
		if d := math.Abs(float64(dst.data32[i]) - w); !(d <= 2e-4*(1+math.Abs(w))) {
			t.Fatalf("%s: float32 element %d is %g, want %g", shape, i, dst.data32[i], w)
		}
	}
}

func TestGemmRefusesShapesThatDoNotFit(t *testing.T) {
	x := make([]float64, 6)
	for name, f := range map[string]func(){
		"inner dimensions differ": func() { kernel.Gemm(kernel.Mat(x[:4], 2, 2), 1, kernel.Mat(x, 2, 3), kernel.Mat(x, 2, 3), 0) },
		"data too short":          func() { kernel.Mat(x, 2, 4) },
		"columns beyond the end":  func() { kernel.Mat(x, 2, 3).Columns(2, 2) },
		"width zero":              func() { kernel.SumRows(nil, x) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if s, _ := recover().(string); len(s) < 8 || s[:8] != "kernel: " {
					t.Errorf("got panic %q, want one that starts with \"kernel: \"", s)
				}
			}()
			f()
		})
	}
}

func TestExpIsAccurate(t *testing.T) {
	worst := 0.0
	for i := -1000; i <= 886; i++ {
		for _, step := range []float32{0, 0.013, 0.05} {
			x := float32(i)/10 + step
			got, want := float64(kernel.Exp(x)), math.Exp(float64(x))
			if want < 1.2e-38 {
				if got > want {
					t.Errorf("exp(%g) is %g, want at most %g", x, got, want)
				}
				continue
			}
			worst = max(worst, math.Abs(got-want)/want)
		}
	}
	if worst > 2e-7 {
		t.Errorf("worst relative error is %g, want at most 2e-7", worst)
	}
	for _, s := range []struct{ x, want float32 }{
		{0, 1}, {float32(math.Inf(-1)), 0}, {-1e9, 0}, {float32(math.Inf(1)), float32(math.Inf(1))},
	} {
		if got := kernel.Exp(s.x); got != s.want {
			t.Errorf("exp(%g) is %g, want %g", s.x, got, s.want)
		}
	}
	if nan := kernel.Exp(float32(math.NaN())); nan == nan {
		t.Errorf("exp(NaN) is %g, want NaN", nan)
	}
	if low, high := kernel.Sigmoid[float32](-1e9), kernel.Sigmoid[float32](1e9); low != 0 || high != 1 {
		t.Errorf("sigmoid reaches %g and %g, want 0 and 1", low, high)
	}
}
