package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/coordgraph/graph"
	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/internal/kernel/plain"
)

var small = kernel.PairShape{Batch: 3, Agents: 4, Items: 5, Rank: 2, Width: 3}
var production = kernel.PairShape{Batch: 3, Agents: 64, Items: 48, Rank: 4, Width: 16}

// batch is the input of a pair bonus.
type batch struct {
	kernel.PairShape
	in     [5][]float64 // q, p, d, adj, committed
	shapes [5]tensor.Shape
}

var names = [5]string{"q", "p", "d", "adj", "committed"}

// draw makes a batch whose adjacency comes from coordgraph.Select and whose commitments are one item of about half the
// agents.
func draw(s kernel.PairShape, seed uint64) batch {
	rng := rand.New(rand.NewPCG(seed, 0))
	normal := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	n, items := s.Agents, s.Batch*s.Agents*s.Items
	b := batch{PairShape: s,
		in: [5][]float64{normal(items * s.Rank), normal(s.Batch * n * s.Width), normal(s.Rank),
			make([]float64, s.Batch*n*n), make([]float64, items)},
		shapes: [5]tensor.Shape{{items, s.Rank}, {s.Batch * n, s.Width}, {s.Rank}, {s.Batch, n * n}, {s.Batch, n * s.Items}}}
	for g := range s.Batch {
		graph := b.graph(g)
		graph.Adjacency(b.in[3][g*n*n : (g+1)*n*n])
		for i := range n {
			if rng.IntN(2) == 0 {
				b.in[4][(g*n+i)*s.Items+rng.IntN(s.Items)] = 1
			}
		}
	}
	return b
}

// graph selects the coordination graph of group g.
func (b batch) graph(g int) *coordgraph.Graph[float64] {
	n := b.Agents
	scores, graph := make([]float64, n*n), new(coordgraph.Graph[float64])
	coordgraph.Scores(scores, b.in[1][g*n*b.Width:(g+1)*n*b.Width], b.Width)
	coordgraph.Select(graph, scores, nil, 2)
	return graph
}

func (b batch) plain(x [][]complex128) []complex128 {
	return plain.PairBonus(x[0], x[1], x[2], x[3], x[4], b.Batch, b.Agents, b.Items, b.Rank, b.Width)
}

// program is one graph of the bonus of several batches, with the gradients of sum <dy, bonus>.
type program struct {
	vm   G.VM
	in   []G.Nodes
	out  []G.Value
	loss G.Value
}

func compile(tb testing.TB, dt tensor.Dtype, dy [][]float64, batches ...batch) *program {
	tb.Helper()
	g := G.NewGraph()
	must := func(n *G.Node, err error) *G.Node {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return n
	}
	p := &program{out: make([]G.Value, len(batches))}
	var loss *G.Node
	var params G.Nodes
	for k, b := range batches {
		n := make(G.Nodes, 5)
		for i, name := range names {
			n[i] = node(g, dt, fmt.Sprintf("%s%d", name, k), b.shapes[i], b.in[i])
		}
		p.in, params = append(p.in, n), append(params, n[:3]...)
		y := must(graph.PairBonus(n[0], n[1], n[2], n[3], n[4]))
		G.Read(y, &p.out[k])
		term := must(G.Sum(must(G.HadamardProd(y, node(g, dt, fmt.Sprintf("dy%d", k), y.Shape(), dy[k])))))
		if loss == nil {
			loss = term
		} else {
			loss = must(G.Add(loss, term))
		}
	}
	G.Read(loss, &p.loss)
	if _, err := G.Grad(loss, params...); err != nil {
		tb.Fatal(err)
	}
	p.vm = G.NewTapeMachine(g, G.BindDualValues(params...))
	return p
}

func (p *program) run(tb testing.TB) {
	tb.Helper()
	p.vm.Reset()
	if err := p.vm.RunAll(); err != nil {
		tb.Fatal(err)
	}
}

func node(g *G.ExprGraph, dt tensor.Dtype, name string, shape tensor.Shape, data []float64) *G.Node {
	var backing any = append([]float64(nil), data...)
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
	if x, ok := v.Data().([]float64); ok {
		return x
	}
	x := v.Data().([]float32)
	out := make([]float64, len(x))
	for i, e := range x {
		out[i] = float64(e)
	}
	return out
}

func cotangents(batches ...batch) [][]float64 {
	rng := rand.New(rand.NewPCG(9, 9))
	dy := make([][]float64, len(batches))
	for k, b := range batches {
		dy[k] = make([]float64, len(b.in[4]))
		for i := range dy[k] {
			dy[k][i] = rng.NormFloat64()
		}
	}
	return dy
}

func near(got, want, tol float64) bool { return math.Abs(got-want) <= tol*(1+math.Abs(want)) }

// TestBonusEqualsPlainLoops checks values and gradients of bonuses that share one graph: two of one shape, one whose batch
// is cut otherwise, one of another rank and width.
func TestBonusEqualsPlainLoops(t *testing.T) {
	recut := kernel.PairShape{Batch: 1, Agents: 12, Items: 5, Rank: 2, Width: 3}
	rewidth := kernel.PairShape{Batch: 3, Agents: 4, Items: 5, Rank: 3, Width: 2}
	one := kernel.PairShape{Batch: 1, Agents: 2, Items: 1, Rank: 1, Width: 1}
	for _, row := range []struct {
		dt           tensor.Dtype
		tol, gradTol float64
	}{{tensor.Float64, 1e-12, 1e-10}, {tensor.Float32, 1e-5, 3e-4}} {
		for _, batches := range [][]batch{
			{draw(small, 1), draw(small, 2), draw(recut, 3), draw(rewidth, 4)},
			{draw(production, 5)},
			{draw(one, 6)},
		} {
			dy := cotangents(batches...)
			p := compile(t, row.dt, dy, batches...)
			p.run(t)
			for k, b := range batches {
				x := plain.Complex(b.in[:])
				want := b.plain(x)
				for i, v := range floats(p.out[k]) {
					if !near(v, real(want[i]), row.tol) {
						t.Fatalf("%v, %+v: bonus %d is %g, want %g", row.dt, b.PairShape, i, v, real(want[i]))
					}
				}
				for at := range 3 {
					v, err := p.in[k][at].Grad()
					if err != nil {
						t.Fatal(err)
					}
					got := floats(v)
					for e := 0; e < len(got); e += max(1, len(got)/40) {
						if want := plain.Derivative(b.plain, x, dy[k], at, e); !near(got[e], want, row.gradTol) {
							t.Errorf("%v, %+v: gradient of %s at %d is %g, want %g", row.dt, b.PairShape, names[at], e, got[e], want)
						}
					}
				}
			}
			p.vm.Close()
		}
	}
}

func TestGradientsEqualFiniteDifferences(t *testing.T) {
	const h = 1e-6
	b := draw(small, 1)
	dy := cotangents(b)
	p, shifted := compile(t, tensor.Float64, dy, b), compile(t, tensor.Float64, dy, b)
	defer p.vm.Close()
	defer shifted.vm.Close()
	p.run(t)
	for at := range 3 {
		v, err := p.in[0][at].Grad()
		if err != nil {
			t.Fatal(err)
		}
		x := shifted.in[0][at].Value().Data().([]float64)
		for e, got := range floats(v) {
			loss := func(x0 float64) float64 {
				x[e] = x0
				shifted.run(t)
				return shifted.loss.Data().(float64)
			}
			was := x[e]
			want := (loss(was+h) - loss(was-h)) / (2 * h)
			x[e] = was
			if !near(got, want, 1e-6) {
				t.Errorf("gradient of %s at %d is %g, want about %g", names[at], e, got, want)
			}
		}
	}
}

// TestBonusEqualsTheDecoder commits the same items one by one with coordgraph.AddPayoff, in both precisions.
func TestBonusEqualsTheDecoder(t *testing.T) {
	for _, s := range []kernel.PairShape{small, production} {
		b := draw(s, 7)
		double := compile(t, tensor.Float64, cotangents(b), b)
		double.run(t)
		compareDecoder(t, b, b.in, floats(double.out[0]), 1e-12)
		double.vm.Close()
		float := compile(t, tensor.Float32, cotangents(b), b)
		float.run(t)
		var in [5][]float32
		for i, x := range b.in {
			in[i] = single(x)
		}
		compareDecoder(t, b, in, floats(float.out[0]), 1e-6)
		float.vm.Close()
	}
}

func compareDecoder[T kernel.Float](t *testing.T, b batch, in [5][]T, want []float64, tol float64) {
	t.Helper()
	n, items := b.Agents, b.Agents*b.Items
	for g := range b.Batch {
		var graph coordgraph.Graph[T]
		scores, bids := make([]T, n*n), make([]T, items)
		coordgraph.Scores(scores, in[1][g*n*b.Width:(g+1)*n*b.Width], b.Width)
		coordgraph.Select(&graph, scores, nil, 2)
		payoffs := coordgraph.Payoffs[T]{Agents: n, Items: b.Items, Q: in[0][g*items*b.Rank : (g+1)*items*b.Rank], D: in[2]}
		for at, c := range in[4][g*items : (g+1)*items] {
			if c != 0 {
				coordgraph.AddPayoff(bids, &graph, &payoffs, at/b.Items, at%b.Items)
			}
		}
		for i, v := range bids {
			if w := want[g*items+i]; !near(float64(v), w, tol) {
				t.Fatalf("%T: bid %d of group %d is %g, want %g", v, i, g, v, w)
			}
		}
	}
}

func TestWrongShapesAreErrors(t *testing.T) {
	for at, shape := range map[int]tensor.Shape{0: {59, 2}, 1: {12}, 2: {3}, 3: {3, 15}, 4: {60, 1}} {
		b := draw(small, 1)
		b.shapes[at] = shape
		g := G.NewGraph()
		n := make(G.Nodes, 5)
		for i, name := range names {
			n[i] = node(g, tensor.Float64, name, b.shapes[i], make([]float64, b.shapes[i].TotalSize()))
		}
		if _, err := graph.PairBonus(n[0], n[1], n[2], n[3], n[4]); err == nil {
			t.Errorf("built with %s of shape %v", names[at], shape)
		}
	}
}
