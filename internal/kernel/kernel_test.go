package kernel_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/internal/kernel/plain"
)

// layer is a kernel with fixed shapes: forward gives the output, back the gradients of the inputs called wrt.
type layer[T kernel.Float] struct {
	forward func(in [][]T) []T
	back    func(dy, y []T, in [][]T) [][]T
}

// subject is a kernel in both precisions with its reference and inputs.
type subject struct {
	name   string
	in     [][]float64
	wrt    []int
	ref    func(in [][]complex128) []complex128
	single layer[float32]
	double layer[float64]
}

// size is the shape of the network that a subject is a part of.
type size struct{ batch, n, items, d, heads int }

var small, production = size{3, 4, 5, 6, 2}, size{3, 64, 48, 32, 4}

func (s size) String() string {
	return fmt.Sprintf("B=%d,n=%d,K=%d,d=%d,H=%d", s.batch, s.n, s.items, s.d, s.heads)
}

func normal(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// bits are ones with probability p.
func bits(rng *rand.Rand, n int, p float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		if rng.Float64() < p {
			x[i] = 1
		}
	}
	return x
}

// padding is a mask of groups of n: the first full, the second without anything valid, the others mixed.
func padding(rng *rand.Rand, groups, n int) []float64 {
	x := bits(rng, groups*n, 0.7)
	for i := range n {
		x[i] = 1
		if groups > 1 {
			x[n+i] = 0
		}
	}
	return x
}

func subjects(s size) []subject {
	rng := rand.New(rand.NewPCG(1, 2))
	servers, jobs, in := s.batch*s.n, s.batch*s.items, s.d+1
	var list []subject
	for _, a := range []struct {
		act kernel.Activation
		ref func(complex128) complex128
	}{{kernel.None, plain.Identity}, {kernel.ReLU, plain.ReLU}, {kernel.Tanh, cmplx.Tanh}} {
		list = append(list, subject{
			name: "dense " + a.act.String(), wrt: []int{0, 1, 2},
			in:     [][]float64{normal(rng, servers*in), normal(rng, in*s.d), normal(rng, s.d)},
			ref:    func(x [][]complex128) []complex128 { return plain.Dense(x[0], x[1], x[2], in, s.d, a.ref) },
			single: dense[float32](in, s.d, a.act), double: dense[float64](in, s.d, a.act),
		})
	}
	list = append(list, subject{
		name: "layer norm", wrt: []int{0, 1, 2},
		in:     [][]float64{normal(rng, servers*s.d), normal(rng, s.d), normal(rng, s.d)},
		ref:    func(x [][]complex128) []complex128 { return plain.LayerNorm(x[0], x[1], x[2]) },
		single: layerNorm[float32](), double: layerNorm[float64](),
	})
	for _, reference := range []int{0, 3} {
		list = append(list, subject{
			name: fmt.Sprintf("attention, reference %d", reference), wrt: []int{0, 1, 2},
			in: [][]float64{normal(rng, servers*s.d), normal(rng, jobs*s.d), normal(rng, jobs*s.d),
				padding(rng, s.batch, s.items)},
			ref: func(x [][]complex128) []complex128 {
				return plain.Attention(x[0], x[1], x[2], x[3], s.batch, s.n, s.items, s.d, s.heads, reference)
			},
			single: attend[float32](s, reference), double: attend[float64](s, reference),
		})
	}
	list = append(list, offerSubjects(s, rng)...)
	actions := s.n*s.items + 1
	list = append(list, subject{
		name: "masked log softmax", wrt: []int{0},
		in:     [][]float64{normal(rng, s.batch*actions), padding(rng, s.batch, actions)},
		ref:    func(x [][]complex128) []complex128 { return plain.MaskedLogSoftmax(x[0], x[1], actions) },
		single: logSoftmax[float32](actions), double: logSoftmax[float64](actions),
	})
	for _, largest := range []bool{false, true} {
		list = append(list, subject{
			name: fmt.Sprintf("pool, largest %v", largest), wrt: []int{0},
			in:     [][]float64{normal(rng, servers*s.d), padding(rng, s.batch, s.n)},
			ref:    func(x [][]complex128) []complex128 { return plain.Pool(x[0], x[1], s.n, s.d, largest) },
			single: pool[float32](s.n, s.d, largest), double: pool[float64](s.n, s.d, largest),
		})
	}
	return list
}

func like[T kernel.Float](x []T) []T { // dirty, so that a kernel which fails to overwrite is seen
	y := make([]T, len(x))
	for i := range y {
		y[i] = 1e6
	}
	return y
}

func dirty[T kernel.Float](n int) []T { return like(make([]T, n)) }

func dense[T kernel.Float](in, out int, act kernel.Activation) layer[T] {
	return layer[T]{
		forward: func(x [][]T) []T {
			y := dirty[T](len(x[0]) / in * out)
			kernel.Dense(y, x[0], x[1], x[2], in, out, act)
			return y
		},
		back: func(dy, y []T, x [][]T) [][]T {
			dz := like(dy)
			kernel.ActivateBack(dz, dy, y, act)
			g := [][]T{like(x[0]), like(x[1]), like(x[2])}
			kernel.DenseBack(g[0], g[1], g[2], dz, x[0], x[1], in, out)
			return g
		},
	}
}

func layerNorm[T kernel.Float]() layer[T] {
	return layer[T]{
		forward: func(x [][]T) []T {
			y := like(x[0])
			kernel.LayerNorm(y, x[0], x[1], x[2])
			return y
		},
		back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{like(x[0]), like(x[1]), like(x[2])}
			kernel.LayerNormBack(g[0], g[1], g[2], dy, x[0], x[1])
			return g
		},
	}
}

func attend[T kernel.Float](s size, reference int) layer[T] {
	var buf kernel.AttentionScratch[T]
	shape := kernel.AttentionShape{Batch: s.batch, Queries: s.n, Keys: s.items, Width: s.d, Heads: s.heads, Reference: reference}
	return layer[T]{
		forward: func(x [][]T) []T {
			y := like(x[0])
			kernel.Attention(y, x[0], x[1], x[2], x[3], shape, &buf)
			return y
		},
		back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{like(x[0]), like(x[1]), like(x[2])}
			kernel.AttentionBack(g[0], g[1], g[2], dy, x[0], x[1], x[2], x[3], shape, &buf)
			return g
		},
	}
}

func logSoftmax[T kernel.Float](width int) layer[T] {
	return layer[T]{
		forward: func(x [][]T) []T {
			y := like(x[0])
			kernel.MaskedLogSoftmax(y, x[0], x[1], width)
			return y
		},
		back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{like(x[0])}
			kernel.MaskedLogSoftmaxBack(g[0], dy, y, x[1], width)
			return g
		},
	}
}

func pool[T kernel.Float](n, d int, largest bool) layer[T] {
	return layer[T]{
		forward: func(x [][]T) []T {
			y := dirty[T](len(x[0]) / n)
			if largest {
				kernel.MaxPool(y, x[0], x[1], n, d)
			} else {
				kernel.MeanPool(y, x[0], x[1], n, d)
			}
			return y
		},
		back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{like(x[0])}
			if largest {
				kernel.MaxPoolBack(g[0], dy, x[0], x[1], n, d)
			} else {
				kernel.MeanPoolBack(g[0], dy, x[1], n, d)
			}
			return g
		},
	}
}

func TestKernelsEqualPlainLoops(t *testing.T) {
	for _, s := range []size{small, production, {1, 1, 1, 1, 1}} {
		for _, sub := range subjects(s) {
			t.Run(sub.name+" at "+s.String(), func(t *testing.T) {
				want := sub.ref(plain.Complex(sub.in))
				compare(t, "float64", sub.double.forward(sub.in), want, 1e-12)
				compare(t, "float32", sub.single.forward(singles(sub.in)), want, 1e-5)
			})
		}
	}
}

// TestGradientsEqualPlainLoops checks some elements of every gradient, all of them where there are few.
func TestGradientsEqualPlainLoops(t *testing.T) {
	const samples = 24
	for _, s := range []size{small, production, {1, 1, 1, 1, 1}} {
		for _, sub := range subjects(s) {
			t.Run(sub.name+" at "+s.String(), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(3, 4))
				y := sub.double.forward(sub.in)
				dy := normal(rng, len(y))
				got := sub.double.back(dy, y, sub.in)
				in32 := singles(sub.in)
				got32 := sub.single.back(singles([][]float64{dy})[0], sub.single.forward(in32), in32)
				x := plain.Complex(sub.in)
				for g, at := range sub.wrt {
					each := 1
					if len(x[at]) > 100 {
						each = max(1, len(x[at])/samples)
					}
					for e := rng.IntN(each); e < len(x[at]); e += each {
						want := plain.Derivative(sub.ref, x, dy, at, e)
						tell := func(precision string, got, tol float64) {
							if !(math.Abs(got-want) <= tol*(1+math.Abs(want))) {
								t.Errorf("%s gradient of input %d at %d is %g, want %g", precision, at, e, got, want)
							}
						}
						tell("float64", got[g][e], 1e-10)
						tell("float32", float64(got32[g][e]), 3e-4)
					}
				}
			})
		}
	}
}

func TestGradientsEqualFiniteDifferences(t *testing.T) {
	const h = 1e-6
	for _, sub := range subjects(small) {
		t.Run(sub.name, func(t *testing.T) {
			y := sub.double.forward(sub.in)
			dy := normal(rand.New(rand.NewPCG(5, 6)), len(y))
			loss := func() (sum float64) {
				for i, v := range sub.double.forward(sub.in) {
					if v != kernel.Masked {
						sum += dy[i] * v
					}
				}
				return sum
			}
			got := sub.double.back(dy, y, sub.in)
			for g, at := range sub.wrt {
				for e, v := range sub.in[at] {
					sub.in[at][e] = v + h
					up := loss()
					sub.in[at][e] = v - h
					want := (up - loss()) / (2 * h)
					sub.in[at][e] = v
					if math.Abs(got[g][e]-want) > 1e-6*(1+math.Abs(want)) {
						t.Errorf("gradient of input %d at %d is %g, want about %g", at, e, got[g][e], want)
					}
				}
			}
		})
	}
}

func compare[T kernel.Float](t *testing.T, name string, got []T, want []complex128, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", name, len(got), len(want))
	}
	worst := 0.0
	for i, v := range got {
		diff := math.Abs(float64(v)-real(want[i])) / (1 + math.Abs(real(want[i])))
		if !(diff <= worst) { // NaN too
			worst = diff
		}
	}
	if !(worst <= tol) {
		t.Errorf("%s: worst difference %g, want at most %g", name, worst, tol)
	}
}

func singles(in [][]float64) [][]float32 {
	out := make([][]float32, len(in))
	for i, x := range in {
		out[i] = make([]float32, len(x))
		for j, v := range x {
			out[i][j] = float32(v)
		}
	}
	return out
}
