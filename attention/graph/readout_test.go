package graph_test

import (
	"math/rand/v2"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/attention/graph"
	"github.com/clustergym/clustergym/internal/plain"
)

// readouts returns layers on agents x and items y: the readout with three candidates per group, the pool, and means.
func readouts(s size, rng *rand.Rand, x, y, agentMask, itemMask input) []layer {
	const candidates, f = 3, 2
	rows := s.batch * candidates
	z := param(rng, "candidates", rows, f)
	z.param = false
	weights := input{name: "weights", shape: tensor.Shape{s.batch, candidates * s.n}, data: make([]float64, rows*s.n)}
	of := input{name: "of", shape: tensor.Shape{rows}, data: make([]float64, rows)}
	for c := range rows {
		of.data[c] = float64(rng.IntN(s.items+1) - 1)
		for range rng.IntN(4) {
			weights.data[c*s.n+rng.IntN(s.n)] = rng.Float64()
		}
	}
	list := []layer{{"readout", []input{x, y, z, weights, of, agentMask, itemMask},
		func(n G.Nodes) (*G.Node, error) {
			in := graph.Candidates{Features: n[2], Weights: n[3], Of: n[4], AgentMask: n[5], ItemMask: n[6]}
			return graph.Readout(n[0], n[1], in, s.batch)
		},
		func(x [][]complex128) []complex128 {
			return plain.Readout(x[0], x[1], x[2], x[3], x[4], x[5], x[6], s.batch, s.n, s.items, candidates, s.d, f)
		},
	}}
	whole := param(rng, "whole", s.batch, f)
	whole.param = false
	list = append(list, layer{"pool", []input{x, y, whole, agentMask, itemMask},
		func(n G.Nodes) (*G.Node, error) { return graph.Pool(n[0], n[1], n[2], n[3], n[4], s.batch) },
		func(x [][]complex128) []complex128 {
			return plain.Pool(x[0], x[1], x[2], x[3], x[4], s.batch, s.n, s.items, s.d, f)
		},
	})
	for _, batch := range []int{s.batch, 1} { // operations that differ only in this number
		list = append(list, layer{"mean of others", []input{x, agentMask},
			func(n G.Nodes) (*G.Node, error) { return graph.MeanOthers(n[0], n[1], batch) },
			func(x [][]complex128) []complex128 { return plain.MeanOthers(x[0], x[1], s.batch*s.n/batch, s.d) },
		})
	}
	return list
}

// facts returns inputs of Readout for two groups of two agents and two items.
func facts(n func(shape ...int) *G.Node, candidates, weights int) graph.Candidates {
	return graph.Candidates{Features: n(candidates, 2), Weights: n(2, weights), Of: n(candidates), AgentMask: n(4), ItemMask: n(2, 2)}
}
