package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/attention/graph"
	"github.com/clustergym/clustergym/internal/plain"
)

// input is one input of an operation. Inputs with the same name in a test are the same node.
type input struct {
	name  string
	shape tensor.Shape
	data  []float64
	param bool // whether it has a gradient
}

// layer is an operation of this package with its inputs and the plain loops that it must match.
type layer struct {
	name  string
	in    []input
	build func(n G.Nodes) (*G.Node, error)
	plain func(x [][]complex128) []complex128
}

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

func param(rng *rand.Rand, name string, shape ...int) input {
	return input{name, shape, normal(rng, tensor.Shape(shape).TotalSize()), true}
}

// padding returns a mask in which no element of the second group is valid.
func padding(rng *rand.Rand, name string, groups, n int) input {
	m := input{name: name, shape: tensor.Shape{groups * n}, data: make([]float64, groups*n)}
	for i := range m.data {
		if i/n != 1 && (i%n == 0 || rng.IntN(3) > 0) {
			m.data[i] = 1
		}
	}
	return m
}

func layers(s size) []layer {
	rng := rand.New(rand.NewPCG(1, 2))
	servers, jobs, actions := s.batch*s.n, s.batch*s.items, s.n*s.items+1
	x, w, b := param(rng, "x", servers, s.d), param(rng, "w", s.d, s.d+1), param(rng, "b", s.d+1)
	gain, bias := param(rng, "gain", s.d), param(rng, "bias", s.d)
	k, v := param(rng, "k", jobs, s.d), param(rng, "v", jobs, s.d)
	logits, legal := param(rng, "logits", s.batch, actions), padding(rng, "legal", s.batch, actions)
	legal.shape = tensor.Shape{s.batch, actions}
	jobMask, serverMask := padding(rng, "jobMask", s.batch, s.items), padding(rng, "serverMask", s.batch, s.n)

	list := []layer{{"layer norm", []input{x, gain, bias},
		func(n G.Nodes) (*G.Node, error) { return graph.LayerNorm(n[0], n[1], n[2]) },
		func(x [][]complex128) []complex128 { return plain.LayerNorm(x[0], x[1], x[2]) },
	}, {"masked log softmax", []input{logits, legal},
		func(n G.Nodes) (*G.Node, error) { return graph.MaskedLogSoftmax(n[0], n[1]) },
		func(x [][]complex128) []complex128 { return plain.MaskedLogSoftmax(x[0], x[1], actions) },
	}}
	list = append(list, readouts(s, rng, x, k, serverMask, jobMask)...)
	for act, ref := range []func(complex128) complex128{plain.Identity, plain.ReLU} {
		list = append(list, layer{"dense " + graph.Activation(act).String(), []input{x, w, b},
			func(n G.Nodes) (*G.Node, error) { return graph.Dense(n[0], n[1], n[2], graph.Activation(act)) },
			func(x [][]complex128) []complex128 { return plain.Dense(x[0], x[1], x[2], s.d, s.d+1, ref) },
		})
	}
	// Build the same inputs with other groups and heads: the operations differ only in these numbers.
	for _, batch := range []int{s.batch, 1} {
		for _, heads := range slices.Compact([]int{s.heads, s.d, 1}) {
			references := []int{0, 2, 9}
			if batch != s.batch || heads != s.heads {
				references = references[:1]
			}
			for _, reference := range references {
				name := fmt.Sprintf("attention of %d groups, %d heads, reference %d", batch, heads, reference)
				list = append(list, layer{name, []input{x, k, v, jobMask},
					func(n G.Nodes) (*G.Node, error) {
						return graph.Attention(n[0], n[1], n[2], n[3], batch, heads, reference)
					},
					func(x [][]complex128) []complex128 {
						return plain.Attention(x[0], x[1], x[2], x[3], batch, servers/batch, jobs/batch, s.d, heads, reference)
					},
				})
			}
		}
		list = append(list, layer{fmt.Sprintf("%d copies", batch), []input{w},
			func(n G.Nodes) (*G.Node, error) { return graph.Repeat(n[0], batch) },
			func(x [][]complex128) []complex128 { return slices.Repeat(x[0], batch) },
		})
	}
	return list
}

// program is a graph of layers on shared inputs, with the gradients of loss = sum over layers of <dy, output>.
type program struct {
	vm     G.VM
	nodes  map[string]*G.Node
	params G.Nodes
	out    []G.Value
	loss   G.Value
}

func (p *program) close() { p.vm.Close() }

func (p *program) run(tb testing.TB) {
	tb.Helper()
	p.vm.Reset()
	if err := p.vm.RunAll(); err != nil {
		tb.Fatal(err)
	}
}

// compile builds the layers in one graph. dy contains the gradients of their outputs.
func compile(tb testing.TB, dt tensor.Dtype, list []layer, dy [][]float64, gradients bool) *program {
	tb.Helper()
	g := G.NewGraph()
	p := &program{nodes: map[string]*G.Node{}, out: make([]G.Value, len(list))}
	var loss *G.Node
	for l, layer := range list {
		n := make(G.Nodes, len(layer.in))
		for i, in := range layer.in {
			if p.nodes[in.name] == nil {
				p.nodes[in.name] = node(g, dt, in.name, in.shape, in.data)
				if in.param {
					p.params = append(p.params, p.nodes[in.name])
				}
			}
			n[i] = p.nodes[in.name]
		}
		y := must(tb)(layer.build(n))
		G.Read(y, &p.out[l])
		c := node(g, dt, fmt.Sprintf("dy%d", l), y.Shape(), dy[l])
		term := must(tb)(G.Sum(must(tb)(G.HadamardProd(y, c))))
		if loss == nil {
			loss = term
		} else {
			loss = must(tb)(G.Add(loss, term))
		}
	}
	G.Read(loss, &p.loss)
	if !gradients {
		p.vm = G.NewTapeMachine(g)
		return p
	}
	if _, err := G.Grad(loss, p.params...); err != nil {
		tb.Fatal(err)
	}
	p.vm = G.NewTapeMachine(g, G.BindDualValues(p.params...))
	return p
}

func must(tb testing.TB) func(*G.Node, error) *G.Node {
	return func(n *G.Node, err error) *G.Node {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return n
	}
}

func node(g *G.ExprGraph, dt tensor.Dtype, name string, shape tensor.Shape, data []float64) *G.Node {
	var backing any = slices.Clone(data)
	if dt == tensor.Float32 {
		backing = single(data)
	}
	v := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))
	return G.NewTensor(g, dt, len(shape), G.WithShape(shape...), G.WithName(name), G.WithValue(v))
}

func single(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

func floats(v G.Value) []float64 {
	switch x := v.Data().(type) {
	case []float64:
		return x
	case []float32:
		out := make([]float64, len(x))
		for i, e := range x {
			out[i] = float64(e)
		}
		return out
	case float64:
		return []float64{x}
	}
	panic(fmt.Sprintf("value of %T", v.Data()))
}

// cotangents draws gradients of the outputs. The gradient is 0 where an output is masked, because -1e9 would dominate the loss.
func cotangents(list []layer) [][]float64 {
	rng := rand.New(rand.NewPCG(3, 4))
	dy := make([][]float64, len(list))
	for l, layer := range list {
		y := layer.plain(plain.Complex(data(layer)))
		dy[l] = normal(rng, len(y))
		for i, v := range y {
			if v == attention.Masked {
				dy[l][i] = 0
			}
		}
	}
	return dy
}

func data(l layer) [][]float64 {
	x := make([][]float64, len(l.in))
	for i, in := range l.in {
		x[i] = in.data
	}
	return x
}

// compare checks the outputs, and some elements of all gradients, of the layers in one graph against plain loops.
func compare(t *testing.T, list []layer, dt tensor.Dtype, tol, gradTol float64) {
	t.Helper()
	const samples = 12
	dy := cotangents(list)
	p := compile(t, dt, list, dy, true)
	defer p.close()
	p.run(t)
	for l, layer := range list {
		want := layer.plain(plain.Complex(data(layer)))
		for i, v := range floats(p.out[l]) {
			if !(math.Abs(v-real(want[i])) <= tol*(1+math.Abs(real(want[i])))) {
				t.Errorf("%v %s: output %d is %g, want %g", dt, layer.name, i, v, real(want[i]))
				break
			}
		}
	}
	for _, n := range p.params {
		v, err := n.Grad()
		if err != nil {
			t.Fatal(err)
		}
		got := floats(v)
		step := max(1, len(got)/samples)
		for e := 0; e < len(got); e += step {
			want := 0.0
			for l, layer := range list {
				for at, in := range layer.in {
					if in.name == n.Name() {
						want += plain.Derivative(layer.plain, plain.Complex(data(layer)), dy[l], at, e)
					}
				}
			}
			if !(math.Abs(got[e]-want) <= gradTol*(1+math.Abs(want))) {
				t.Errorf("%v: gradient of %s at %d is %g, want %g", dt, n.Name(), e, got[e], want)
				break
			}
		}
	}
}

func TestLayersEqualPlainLoops(t *testing.T) {
	for _, s := range []size{small, production, {1, 3, 2, 1, 1}} {
		for _, l := range layers(s) {
			t.Run(l.name+" at "+s.String(), func(t *testing.T) {
				compare(t, []layer{l}, tensor.Float64, 1e-12, 1e-10)
				compare(t, []layer{l}, tensor.Float32, 1e-5, 3e-4)
			})
		}
	}
}

// TestLayersDoNotMergeInOneGraph builds all layers in one graph. Gorgonia merges nodes with equal hashes of the operation. It
// must not merge two operations on the same inputs that differ in any number.
func TestLayersDoNotMergeInOneGraph(t *testing.T) {
	for _, s := range []size{small, production} {
		compare(t, layers(s), tensor.Float64, 1e-12, 1e-9)
	}
}

// TestGradientsEqualFiniteDifferences checks gradients with a second machine, without gradients, on shifted inputs.
func TestGradientsEqualFiniteDifferences(t *testing.T) {
	const h = 1e-6
	for _, l := range layers(small) {
		t.Run(l.name, func(t *testing.T) {
			list := []layer{l}
			dy := cotangents(list)
			p, forward := compile(t, tensor.Float64, list, dy, true), compile(t, tensor.Float64, list, dy, false)
			defer p.close()
			defer forward.close()
			p.run(t)
			for _, n := range p.params {
				v, err := n.Grad()
				if err != nil {
					t.Fatal(err)
				}
				x := forward.nodes[n.Name()].Value().Data().([]float64)
				loss := func() float64 {
					forward.run(t)
					return forward.loss.Data().(float64)
				}
				for e, got := range floats(v) {
					was := x[e]
					x[e] = was + h
					up := loss()
					x[e] = was - h
					want := (up - loss()) / (2 * h)
					x[e] = was
					if math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
						t.Errorf("gradient of %s at %d is %g, want about %g", n.Name(), e, got, want)
					}
				}
			}
		})
	}
}

func TestRunsRepeatTheSameBytes(t *testing.T) {
	list := layers(small)
	p := compile(t, tensor.Float32, list, cotangents(list), false)
	defer p.close()
	p.run(t)
	var first [][]float64
	for _, v := range p.out {
		first = append(first, slices.Clone(floats(v)))
	}
	p.run(t)
	for l, v := range p.out {
		if !slices.Equal(first[l], floats(v)) {
			t.Errorf("%s differs in a second run", list[l].name)
		}
	}
}
