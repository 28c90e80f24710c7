// Package graph adds the payoffs of a coordination graph to a Gorgonia graph, as differentiable operations for training. It uses
// the same kernels as production.
package graph

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// NeighbourSums adds, for each agent i of each of batch groups, x_i plus the sum of x_j over the neighbours j. x is
// [batch*n,rank]; adj [batch,n*n] contains ones and zeros and has no gradient. NeighbourSums computes the same as
// coordgraph.Graph.Sums.
func NeighbourSums(x, adj *G.Node) (*G.Node, error) {
	if x.Dims() != 2 || adj.Dims() != 2 || adj.Shape()[0] == 0 || x.Shape()[0]%adj.Shape()[0] != 0 {
		return nil, fmt.Errorf("build neighbour sums: input %v and adjacency %v, want [batch*n,rank] and [batch,n*n]",
			x.Shape(), adj.Shape())
	}
	n, rank := x.Shape()[0]/adj.Shape()[0], x.Shape()[1]
	if adj.Shape()[1] != n*n {
		return nil, fmt.Errorf("build neighbour sums: adjacency has shape %v, want %d columns", adj.Shape(), n*n)
	}
	grad := func(in G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		dx, err := graphop.Like("coordgraph.neighbourSumsGrad", rank, in[0], sumsBack[float32](n, rank),
			sumsBack[float64](n, rank), dy, in[1])
		return G.Nodes{dx, nil}, err
	}
	return graphop.Apply("coordgraph.neighbourSums", rank, x.Shape().Clone(), sums[float32](n, rank), sums[float64](n, rank),
		grad, []bool{true, false}, x, adj)
}

func sums[T kernel.Float](n, rank int) graphop.Body[T] {
	return func(y []T, in [][]T) { coordgraph.NeighbourSums(y, in[0], in[1], n, rank) }
}

func sumsBack[T kernel.Float](n, rank int) graphop.Body[T] {
	return func(dx []T, in [][]T) { coordgraph.NeighbourSumsBack(dx, in[0], in[1], n, rank) }
}

// Payoff adds the payoff of each coalition, see coordgraph.Payoff, from q and near [batch*n,rank], d [rank] and weights
// [batch,C*n]; weights has no gradient. The result is [batch,C].
func Payoff(q, near, d, weights *G.Node) (*G.Node, error) {
	if q.Dims() != 2 || weights.Dims() != 2 || weights.Shape()[0] == 0 || q.Shape()[0] == 0 || q.Shape()[0]%weights.Shape()[0] != 0 {
		return nil, fmt.Errorf("build payoff: factors %v and coalitions %v, want [batch*n,rank] and [batch,C*n]",
			q.Shape(), weights.Shape())
	}
	s := coordgraph.PayoffShape{Batch: weights.Shape()[0], Agents: q.Shape()[0] / weights.Shape()[0], Rank: q.Shape()[1]}
	s.Coalitions = weights.Shape()[1] / s.Agents
	for _, c := range []struct {
		name      string
		got, want tensor.Shape
	}{
		{"neighbours", near.Shape(), q.Shape()},
		{"weights", d.Shape(), tensor.Shape{s.Rank}},
		{"coalitions", weights.Shape(), tensor.Shape{s.Batch, s.Coalitions * s.Agents}},
	} {
		if !c.got.Eq(c.want) {
			return nil, fmt.Errorf("build payoff: %s have shape %v, want %v for %+v", c.name, c.got, c.want, s)
		}
	}
	grad := func(n G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		g, err := graphop.Packed("coordgraph.payoffGrad", s, n[:3], payBack[float32](s), payBack[float64](s),
			dy, n[0], n[1], n[2], n[3])
		return append(g, nil), err
	}
	return graphop.Apply("coordgraph.payoff", s, tensor.Shape{s.Batch, s.Coalitions}, pay[float32](s), pay[float64](s),
		grad, []bool{true, true, true, false}, q, near, d, weights)
}

func pay[T kernel.Float](s coordgraph.PayoffShape) graphop.Body[T] {
	var buf coordgraph.PayoffScratch[T]
	return func(y []T, n [][]T) { coordgraph.Payoff(y, n[0], n[1], n[2], n[3], s, &buf) }
}

func payBack[T kernel.Float](s coordgraph.PayoffShape) graphop.Body[T] {
	var buf coordgraph.PayoffScratch[T]
	return func(out []T, n [][]T) {
		dy, q, near, d := n[0], n[1], n[2], n[3]
		dnear := out[len(q):]
		coordgraph.PayoffBack(out[:len(q)], dnear[:len(near)], dnear[len(near):], dy, q, near, d, n[4], s, &buf)
	}
}
