package graph_test

import (
	"math/rand/v2"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/attention/graph"
	"github.com/clustergym/clustergym/internal/kernel/plain"
)

// offers are the layers of offers, three of them to a group, on servers x and jobs y.
func offers(s size, rng *rand.Rand, x, y, serverMask, jobMask input) []layer {
	const offers, f = 3, 2
	rows := s.batch * offers
	z := param(rng, "offers", rows, f)
	z.param = false
	weights := input{name: "weights", shape: tensor.Shape{s.batch, offers * s.n}, data: make([]float64, rows*s.n)}
	of := input{name: "of", shape: tensor.Shape{rows}, data: make([]float64, rows)}
	for o := range rows {
		of.data[o] = float64(rng.IntN(s.items+1) - 1)
		for range rng.IntN(4) {
			weights.data[o*s.n+rng.IntN(s.n)] = rng.Float64()
		}
	}
	list := []layer{{"offer rows", []input{x, y, z, weights, of, serverMask, jobMask},
		func(n G.Nodes) (*G.Node, error) {
			in := graph.Offers{Features: n[2], Weights: n[3], Of: n[4], ServerMask: n[5], JobMask: n[6]}
			return graph.OfferRows(n[0], n[1], in, s.batch)
		},
		func(x [][]complex128) []complex128 {
			return plain.OfferRows(x[0], x[1], x[2], x[3], x[4], x[5], x[6], s.batch, s.n, s.items, offers, s.d, f)
		},
	}}
	for _, batch := range []int{s.batch, 1} { // operations that differ in nothing but this number
		list = append(list, layer{"mean of others", []input{x, serverMask},
			func(n G.Nodes) (*G.Node, error) { return graph.MeanOthers(n[0], n[1], batch) },
			func(x [][]complex128) []complex128 { return plain.MeanOthers(x[0], x[1], s.batch*s.n/batch, s.d) },
		})
	}
	return list
}

// facts are inputs of OfferRows for two groups of two servers and two jobs.
func facts(n func(shape ...int) *G.Node, offers, weights int) graph.Offers {
	return graph.Offers{Features: n(offers, 2), Weights: n(2, weights), Of: n(offers), ServerMask: n(4), JobMask: n(2, 2)}
}
