package kernel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/internal/plain"
)

func kernels(s plain.Size) []plain.Kernel {
	rng := rand.New(rand.NewPCG(1, 2))
	rows, in, d := s.Batch*s.Agents, s.Width+1, s.Width
	var list []plain.Kernel
	for _, a := range []struct {
		act kernel.Activation
		ref func(complex128) complex128
	}{{kernel.None, plain.Identity}, {kernel.ReLU, plain.ReLU}} {
		list = append(list, plain.Kernel{
			Name: "dense " + a.act.String(), Wrt: []int{0, 1, 2},
			In:     [][]float64{plain.Normal(rng, rows*in), plain.Normal(rng, in*d), plain.Normal(rng, d)},
			Plain:  func(x [][]complex128) []complex128 { return plain.Dense(x[0], x[1], x[2], in, d, a.ref) },
			Single: dense[float32](in, d, a.act), Double: dense[float64](in, d, a.act),
		})
	}
	return append(list, plain.Kernel{
		Name: "layer norm", Wrt: []int{0, 1, 2},
		In:     [][]float64{plain.Normal(rng, rows*d), plain.Normal(rng, d), plain.Normal(rng, d)},
		Plain:  func(x [][]complex128) []complex128 { return plain.LayerNorm(x[0], x[1], x[2]) },
		Single: layerNorm[float32](), Double: layerNorm[float64](),
	})
}

func dense[T kernel.Float](in, out int, act kernel.Activation) plain.Layer[T] {
	return plain.Layer[T]{
		Forward: func(x [][]T) []T {
			y := plain.Dirty[T](len(x[0]) / in * out)
			kernel.Dense(y, x[0], x[1], x[2], in, out, act)
			return y
		},
		Back: func(dy, y []T, x [][]T) [][]T {
			dz := plain.Like(dy)
			kernel.ActivateBack(dz, dy, y, act)
			g := [][]T{plain.Like(x[0]), plain.Like(x[1]), plain.Like(x[2])}
			kernel.DenseBack(g[0], g[1], g[2], dz, x[0], x[1], in, out)
			return g
		},
	}
}

func layerNorm[T kernel.Float]() plain.Layer[T] {
	return plain.Layer[T]{
		Forward: func(x [][]T) []T {
			y := plain.Like(x[0])
			kernel.LayerNorm(y, x[0], x[1], x[2])
			return y
		},
		Back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{plain.Like(x[0]), plain.Like(x[1]), plain.Like(x[2])}
			kernel.LayerNormBack(g[0], g[1], g[2], dy, x[0], x[1])
			return g
		},
	}
}

func TestKernelsEqualPlainLoops(t *testing.T) { plain.Check(t, kernels) }

func steps() []plain.Step {
	const n, pairs, d = 64, 64 * 48, 32
	rng := rand.New(rand.NewPCG(1, 1))
	f := func(n int) []float32 { return plain.Singles([][]float64{plain.Normal(rng, n)})[0] }
	x, y, w, dw, b, db, tall, more := f(n*d), f(n*d), f(d*d), f(d*d), f(d), f(d), f(pairs*d), f(pairs*d)
	return []plain.Step{
		{Name: "dense", Run: func() { kernel.Dense(y, x, w, b, d, d, kernel.ReLU) }},
		{Name: "dense tall", Run: func() { kernel.Dense(more, tall, w, b, d, d, kernel.ReLU) }},
		{Name: "dense back", Run: func() { kernel.DenseBack(y, dw, db, x, x, w, d, d) }},
		{Name: "layer norm", Run: func() { kernel.LayerNorm(y, x, b, b) }},
		{Name: "layer norm back", Run: func() { kernel.LayerNormBack(y, db, b, x, x, b) }},
	}
}

func BenchmarkKernels(b *testing.B) { plain.Bench(b, steps()) }

func TestKernelsAllocateNothing(t *testing.T) { plain.AllocatesNothing(t, steps()) }

func TestDenseWithoutBias(t *testing.T) {
	y := []float64{7, 7}
	kernel.Dense(y, []float64{1, 2}, []float64{3, 4, 5, 6}, nil, 2, 2, kernel.None)
	if !slices.Equal(y, []float64{13, 16}) {
		t.Errorf("output is %v, want [13 16]", y)
	}
}

func TestSoftmax(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, row := range []struct {
		name          string
		x, mask, want []float64
	}{
		{"rows", []float64{0, 0, math.Log(3), 0}, []float64{1, 1}, []float64{0.5, 0.5, 0.75, 0.25}},
		{"padding may be anything", []float64{nan, 1, 1, inf, 5, 5}, []float64{0, 1, 1}, []float64{0, 0.5, 0.5, 0, 0.5, 0.5}},
		{"a large score wins", []float64{1e8, 0, -1e8}, []float64{1, 1, 1}, []float64{1, 0, 0}},
		{"nothing valid", []float64{1, nan}, []float64{0, 0}, []float64{0, 0}},
		{"no columns", nil, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			x, single := slices.Clone(row.x), plain.Singles([][]float64{row.x})[0]
			kernel.Softmax(x, row.mask)
			kernel.Softmax(single, plain.Singles([][]float64{row.mask})[0])
			for i, w := range row.want {
				if !(math.Abs(x[i]-w) <= 1e-15) || !(math.Abs(float64(single[i])-w) <= 1e-6) {
					t.Fatalf("softmax is %v, in single precision %v, want %v", x, single, row.want)
				}
			}
		})
	}
}
