// Package graph adds the payoffs of a coordination graph to a Gorgonia graph as one differentiable operation, for training.
// Its values equal those that coordgraph.AddPayoff accumulates in the decoder.
package graph

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// PairBonus adds what the committed items of each agent's neighbours are worth to its bids, for each of batch groups:
//
//	bonus_{j,a'} = sum over committed (i,a) of adj_ij * sigmoid(<p_i,p_j>/sqrt(width)) * sum_r d_r q_{ia,r} q_{ja',r}
//
// with factors q [batch*n*K,rank] of item a of agent i in row i*K+a, projections p [batch*n,width], weights d [rank], adj
// [batch,n*n] and committed [batch,n*K] of ones and zeros. The result is [batch,n*K]. adj and committed are data and have no
// gradient: asking Gorgonia for it fails. All nodes share one element type, float32 or float64.
func PairBonus(q, p, d, adj, committed *G.Node) (*G.Node, error) {
	in := G.Nodes{q, p, d, adj, committed}
	s, err := pairShape(in)
	if err != nil {
		return nil, fmt.Errorf("build pair bonus: %w", err)
	}
	grad := func(n G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		parts, err := graphop.Packed("coordgraph.pairBonusGrad", s, n[:3], backward[float32](s), backward[float64](s),
			dy, n[0], n[1], n[2], n[3], n[4])
		return append(parts, nil, nil), err
	}
	return graphop.Apply("coordgraph.pairBonus", s, tensor.Shape{s.Batch, s.Agents * s.Items}, forward[float32](s),
		forward[float64](s), grad, []bool{true, true, true, false, false}, in...)
}

func pairShape(in G.Nodes) (s kernel.PairShape, err error) {
	q, p, d, adj, committed := in[0].Shape(), in[1].Shape(), in[2].Shape(), in[3].Shape(), in[4].Shape()
	if len(q) != 2 || len(p) != 2 || len(adj) != 2 || adj[0] == 0 || p[0] == 0 {
		return s, fmt.Errorf("factors %v, projections %v and adjacency %v: want non-empty matrices", q, p, adj)
	}
	s = kernel.PairShape{Batch: adj[0], Agents: p[0] / adj[0], Items: q[0] / p[0], Rank: q[1], Width: p[1]}
	for _, c := range []struct {
		name      string
		got, want tensor.Shape
	}{
		{"factors", q, tensor.Shape{s.Batch * s.Agents * s.Items, s.Rank}},
		{"projections", p, tensor.Shape{s.Batch * s.Agents, s.Width}},
		{"weights", d, tensor.Shape{s.Rank}},
		{"adjacency", adj, tensor.Shape{s.Batch, s.Agents * s.Agents}},
		{"commitments", committed, tensor.Shape{s.Batch, s.Agents * s.Items}},
	} {
		if !c.got.Eq(c.want) {
			return s, fmt.Errorf("%s have shape %v, want %v for %+v", c.name, c.got, c.want, s)
		}
	}
	return s, nil
}

func forward[T kernel.Float](s kernel.PairShape) graphop.Body[T] {
	var buf kernel.PairScratch[T]
	return func(out []T, n [][]T) { kernel.PairBonus(out, n[0], n[1], n[2], n[3], n[4], s, &buf) }
}

// backward computes the gradients of q, p and d one after another: they share the walk over the edges.
func backward[T kernel.Float](s kernel.PairShape) graphop.Body[T] {
	var buf kernel.PairScratch[T]
	return func(out []T, n [][]T) {
		dy, q, p, d := n[0], n[1], n[2], n[3]
		dp := out[len(q):]
		kernel.PairBonusBack(out[:len(q)], dp[:len(p)], dp[len(p):], dy, q, p, d, n[4], n[5], s, &buf)
	}
}
