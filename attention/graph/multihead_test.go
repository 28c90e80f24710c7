package graph_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/attention/graph"
)

// TestMultiHeadEqualsHeads checks that training and production compute the same bytes.
func TestMultiHeadEqualsHeads(t *testing.T) {
	const batch, nq, nk, d, heads, reference = 3, 64, 48, 32, 4, 16
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, mask := param(rng, "x", batch*nq, d), param(rng, "y", batch*nk, d), padding(rng, "mask", batch, nk)
	in := []input{x, y, mask}
	for i := range 4 {
		w, b := param(rng, fmt.Sprintf("w%d", i), d, d), param(rng, fmt.Sprintf("b%d", i), d)
		in = append(in, w, b)
	}
	l := layer{name: "multi-head", in: in, build: func(n G.Nodes) (*G.Node, error) {
		return graph.MultiHead(n[0], n[1], n[2], graph.Projections{Wq: n[3], Bq: n[4], Wk: n[5], Bk: n[6],
			Wv: n[7], Bv: n[8], Wo: n[9], Bo: n[10]}, batch, heads, reference)
	}}
	p := compile(t, tensor.Float32, []layer{l}, [][]float64{normal(rng, batch*nq*d)}, true)
	defer p.close()
	p.run(t)
	w := func(i int) []float32 { return single(in[i].data) }
	h := attention.Heads[float32]{Width: d, Heads: heads, Reference: reference, Weights: attention.Weights[float32]{
		Wq: w(3), Bq: w(4), Wk: w(5), Bk: w(6), Wv: w(7), Bv: w(8), Wo: w(9), Bo: w(10)}}
	got := make([]float32, batch*nq*d)
	h.Forward(got, w(0), w(1), w(2), batch, nq, nk)
	if !slices.Equal(got, p.out[0].Data().([]float32)) {
		t.Error("attention.Heads and graph.MultiHead differ")
	}
}

func TestWrongShapesAreErrors(t *testing.T) {
	g := G.NewGraph()
	n := func(shape ...int) *G.Node {
		return node(g, tensor.Float64, fmt.Sprintf("in%v", shape), shape, make([]float64, tensor.Shape(shape).TotalSize()))
	}
	for _, row := range []struct {
		name  string
		build func() (*G.Node, error)
	}{
		{"dense weight", func() (*G.Node, error) { return graph.Dense(n(4, 6), n(5, 2), n(2), graph.None) }},
		{"dense bias", func() (*G.Node, error) { return graph.Dense(n(4, 6), n(6, 2), n(3), graph.None) }},
		{"dense input", func() (*G.Node, error) { return graph.Dense(n(6), n(6, 2), n(2), graph.None) }},
		{"layer norm gain", func() (*G.Node, error) { return graph.LayerNorm(n(4, 6), n(5), n(6)) }},
		{"attention heads", func() (*G.Node, error) { return graph.Attention(n(4, 6), n(4, 6), n(4, 6), n(4), 2, 4, 0) }},
		{"attention reference", func() (*G.Node, error) { return graph.Attention(n(4, 6), n(4, 6), n(4, 6), n(4), 2, 2, -1) }},
		{"no copies", func() (*G.Node, error) { return graph.Repeat(n(4, 6), 0) }},
		{"copies of a vector", func() (*G.Node, error) { return graph.Repeat(n(6), 2) }},
		{"attention groups", func() (*G.Node, error) { return graph.Attention(n(4, 6), n(4, 6), n(4, 6), n(4), 3, 2, 0) }},
		{"attention values", func() (*G.Node, error) { return graph.Attention(n(4, 6), n(4, 6), n(2, 6), n(4), 2, 2, 0) }},
		{"attention mask", func() (*G.Node, error) { return graph.Attention(n(4, 6), n(4, 6), n(4, 6), n(2), 2, 2, 0) }},
		{"mean of others' groups", func() (*G.Node, error) { return graph.MeanOthers(n(4, 6), n(4), 3) }},
		{"candidates' items", func() (*G.Node, error) { return graph.Readout(n(4, 6), n(4, 5), facts(n, 6, 8), 2) }},
		{"candidates' groups", func() (*G.Node, error) { return graph.Readout(n(4, 6), n(4, 6), facts(n, 5, 8), 2) }},
		{"candidates' weights", func() (*G.Node, error) { return graph.Readout(n(4, 6), n(4, 6), facts(n, 6, 7), 2) }},
		{"pool's features", func() (*G.Node, error) { return graph.Pool(n(4, 6), n(2, 6), n(4, 1), n(4), n(2, 1), 2) }},
		{"pool's items", func() (*G.Node, error) { return graph.Pool(n(4, 6), n(2, 5), n(2, 1), n(4), n(2, 1), 2) }},
		{"pool's mask", func() (*G.Node, error) { return graph.Pool(n(4, 6), n(2, 6), n(2, 1), n(2, 1), n(4), 2) }},
		{"mean of others' mask", func() (*G.Node, error) { return graph.MeanOthers(n(4, 6), n(3), 2) }},
		{"softmax mask", func() (*G.Node, error) { return graph.MaskedLogSoftmax(n(4, 6), n(4)) }},
	} {
		if _, err := row.build(); err == nil {
			t.Errorf("%s: built without an error", row.name)
		} else {
			t.Log(err)
		}
	}
}

func TestDataHasNoGradient(t *testing.T) {
	g := G.NewGraph()
	x := node(g, tensor.Float64, "x", tensor.Shape{2, 2}, []float64{1, 2, 3, 4})
	mask := node(g, tensor.Float64, "mask", tensor.Shape{2}, []float64{1, 1})
	loss := must(t)(G.Sum(must(t)(graph.MeanOthers(x, mask, 1))))
	if _, err := G.Grad(loss, mask); err == nil {
		t.Error("a mask got a gradient")
	}
}
