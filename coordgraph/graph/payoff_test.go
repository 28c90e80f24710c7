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
	"github.com/clustergym/clustergym/internal/plain"
)

// TestPayoffEqualsPlainLoops checks values and gradients of payoffs through neighbour sums against plain loops, and the sums
// against coordgraph, for two groupings in one graph.
func TestPayoffEqualsPlainLoops(t *testing.T) {
	for _, s := range []coordgraph.PayoffShape{
		{Batch: 3, Agents: 4, Coalitions: 5, Rank: 3}, {Batch: 2, Agents: 64, Coalitions: 8, Rank: 4}, {Batch: 1, Agents: 1, Coalitions: 1, Rank: 1},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		normal := func(n int) []float64 {
			x := make([]float64, n)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			return x
		}
		n := s.Agents
		q, d, dy := normal(s.Batch*n*s.Rank), normal(s.Rank), normal(s.Batch*s.Coalitions)
		adj, weights := make([]float64, s.Batch*n*n), make([]float64, s.Batch*s.Coalitions*n)
		sums := make([]float64, len(q))
		for b := range s.Batch {
			var g coordgraph.Graph[float64]
			part := func(x []float64) []float64 { return x[b*len(x)/s.Batch : (b+1)*len(x)/s.Batch] }
			coordgraph.SelectNear(&g, part(q), s.Rank, nil, 2)
			g.Adjacency(part(adj))
			g.Sums(part(sums), part(q), s.Rank)
		}
		for i := range weights {
			if rng.IntN(3) == 0 {
				weights[i] = rng.Float64()
			}
		}
		ref := func(x [][]complex128) []complex128 {
			return plain.Payoff(x[0], plain.NeighbourSums(x[0], x[2], n, s.Rank), x[1], x[3], s.Batch, n, s.Coalitions)
		}
		in := plain.Complex([][]float64{q, d, adj, weights})
		want := ref(in)
		for _, row := range []struct {
			dt           tensor.Dtype
			tol, gradTol float64
		}{{tensor.Float64, 1e-12, 1e-10}, {tensor.Float32, 1e-4, 3e-4}} {
			g := G.NewGraph()
			must := func(n *G.Node, err error) *G.Node {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			qn := node(g, row.dt, "q", tensor.Shape{s.Batch * n, s.Rank}, q)
			dn := node(g, row.dt, "d", tensor.Shape{s.Rank}, d)
			wn := node(g, row.dt, "weights", tensor.Shape{s.Batch, s.Coalitions * n}, weights)
			linkedTo := must(graph.NeighbourSums(qn, node(g, row.dt, "adj", tensor.Shape{s.Batch, n * n}, adj)))
			y := must(graph.Payoff(qn, linkedTo, dn, wn))
			var out, linked G.Value
			G.Read(y, &out)
			G.Read(linkedTo, &linked)
			loss := must(G.Sum(must(G.HadamardProd(y, node(g, row.dt, "dy", y.Shape(), dy)))))
			if _, err := G.Grad(loss, qn, dn); err != nil {
				t.Fatal(err)
			}
			vm := G.NewTapeMachine(g, G.BindDualValues(qn, dn))
			if err := vm.RunAll(); err != nil {
				t.Fatal(err)
			}
			for i, v := range floats(out) {
				if !near(v, real(want[i]), row.tol) {
					t.Fatalf("%v, %+v: payoff %d is %g, want %g", row.dt, s, i, v, real(want[i]))
				}
			}
			for i, v := range floats(linked) {
				if !near(v, sums[i], row.tol) {
					t.Fatalf("%v, %+v: sum %d is %g, want %g", row.dt, s, i, v, sums[i])
				}
			}
			for at, n := range []*G.Node{qn, dn} {
				v, err := n.Grad()
				if err != nil {
					t.Fatal(err)
				}
				got := floats(v)
				for e := 0; e < len(got); e += max(1, len(got)/20) {
					if want := plain.Derivative(ref, in, dy, at, e); !near(got[e], want, row.gradTol) {
						t.Errorf("%v, %+v: gradient of input %d at %d is %g, want %g", row.dt, s, at, e, got[e], want)
					}
				}
			}
			vm.Close()
		}
	}
}

func TestWrongPayoffShapesAreErrors(t *testing.T) {
	g := G.NewGraph()
	at := 0
	n := func(shape ...int) *G.Node {
		at++
		return node(g, tensor.Float64, fmt.Sprint("in", at), shape, make([]float64, tensor.Shape(shape).TotalSize()))
	}
	for _, c := range []struct {
		name  string
		build func() (*G.Node, error)
	}{
		{"adjacency", func() (*G.Node, error) { return graph.NeighbourSums(n(6, 2), n(2, 8)) }},
		{"groups", func() (*G.Node, error) { return graph.NeighbourSums(n(5, 2), n(2, 9)) }},
		{"near", func() (*G.Node, error) { return graph.Payoff(n(6, 2), n(6, 3), n(2), n(2, 12)) }},
		{"weights", func() (*G.Node, error) { return graph.Payoff(n(6, 2), n(6, 2), n(3), n(2, 12)) }},
		{"coalitions", func() (*G.Node, error) { return graph.Payoff(n(6, 2), n(6, 2), n(2), n(2, 11)) }},
	} {
		if _, err := c.build(); err == nil {
			t.Errorf("%s: built without an error", c.name)
		}
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

func near(got, want, tol float64) bool { return math.Abs(got-want) <= tol*(1+math.Abs(want)) }
