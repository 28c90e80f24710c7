package plain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Float is the element type of kernels, as in package internal/kernel.
type Float interface{ ~float32 | ~float64 }

// Layer is a kernel with fixed shapes. Forward returns its output, and Back the gradients of the inputs that have gradients.
type Layer[T Float] struct {
	Forward func(in [][]T) []T
	Back    func(dy, y []T, in [][]T) [][]T
}

// Kernel contains a kernel in both precisions, its inputs, and the plain version that it must equal.
type Kernel struct {
	Name   string
	In     [][]float64
	Wrt    []int // indices of the inputs that have a gradient
	Plain  func(in [][]complex128) []complex128
	Single Layer[float32]
	Double Layer[float64]
}

// Size is the size of the network that kernels are part of: Batch groups of agents and items, with the given width and number of
// heads.
type Size struct{ Batch, Agents, Items, Width, Heads int }

// Production is approximately the size with which the team decides.
var Production = Size{3, 64, 48, 32, 4}

var sizes = []Size{{3, 4, 5, 6, 2}, Production, {1, 1, 1, 1, 1}}

// Check tests kernels in several sizes. It compares values and gradients with the plain versions, and checks that a second run
// gives the same bytes.
func Check(t *testing.T, kernels func(Size) []Kernel) {
	for _, s := range sizes {
		for _, k := range kernels(s) {
			t.Run(fmt.Sprintf("%s at %+v", k.Name, s), func(t *testing.T) {
				k.values(t)
				k.gradients(t)
			})
		}
	}
	for _, k := range kernels(Production) {
		t.Run(k.Name+" twice", k.twice)
	}
}

func (k *Kernel) values(t *testing.T) {
	want := k.Plain(Complex(k.In))
	compare(t, "float64", k.Double.Forward(k.In), want, 1e-12)
	compare(t, "float32", k.Single.Forward(Singles(k.In)), want, 1e-5)
}

// gradients checks a sample of the elements of every gradient, or all elements of a small one.
func (k *Kernel) gradients(t *testing.T) {
	const samples = 24
	rng := rand.New(rand.NewPCG(3, 4))
	y := k.Double.Forward(k.In)
	dy := Normal(rng, len(y))
	got := k.Double.Back(dy, y, k.In)
	in32 := Singles(k.In)
	got32 := k.Single.Back(Singles([][]float64{dy})[0], k.Single.Forward(in32), in32)
	x := Complex(k.In)
	for g, at := range k.Wrt {
		each := 1
		if len(x[at]) > 100 {
			each = max(1, len(x[at])/samples)
		}
		for e := rng.IntN(each); e < len(x[at]); e += each {
			want := Derivative(k.Plain, x, dy, at, e)
			tell := func(precision string, got, tol float64) {
				if !(math.Abs(got-want) <= tol*(1+math.Abs(want))) {
					t.Errorf("%s gradient of input %d at %d is %g, want %g", precision, at, e, got, want)
				}
			}
			tell("float64", got[g][e], 1e-10)
			tell("float32", float64(got32[g][e]), 3e-4)
		}
	}
}

func (k *Kernel) twice(t *testing.T) {
	in, again := Singles(k.In), Singles(k.In)
	y := k.Single.Forward(in)
	g := k.Single.Back(y, y, in)
	if !slices.Equal(y, k.Single.Forward(again)) {
		t.Error("output differs between two runs")
	}
	for i, h := range k.Single.Back(y, y, again) {
		if !slices.Equal(g[i], h) {
			t.Errorf("gradient %d differs between two runs", i)
		}
	}
}

func compare[T Float](t *testing.T, name string, got []T, want []complex128, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", name, len(got), len(want))
	}
	worst := 0.0
	for i, v := range got {
		diff := math.Abs(float64(v)-real(want[i])) / (1 + math.Abs(real(want[i])))
		if !(diff <= worst) { // true for NaN too
			worst = diff
		}
	}
	if !(worst <= tol) {
		t.Errorf("%s: worst difference %g, want at most %g", name, worst, tol)
	}
}

// Step is a kernel with tensors of fixed shapes, for benchmarks.
type Step struct {
	Name string
	Run  func()
}

// Bench benchmarks every step.
func Bench(b *testing.B, steps []Step) {
	for _, s := range steps {
		b.Run(s.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Run()
			}
		})
	}
}

// AllocatesNothing fails the test if the second or a later run of a step allocates memory.
func AllocatesNothing(t *testing.T, steps []Step) {
	for _, s := range steps {
		s.Run()
		if n := testing.AllocsPerRun(3, s.Run); n != 0 {
			t.Errorf("%s allocates %g times", s.Name, n)
		}
	}
}
