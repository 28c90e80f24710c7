// Package learn builds the team's network as a Gorgonia graph and computes gradients of the training objectives. Its layers use
// the same kernels as the production forward pass of package agents, so both compute the same bids.
package learn

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/attention/graph"
	pairs "github.com/clustergym/clustergym/coordgraph/graph"
)

// builder implements the network's layers as nodes of a graph, for a batch of samples. It keeps the first error and does nothing
// after it.
type builder struct {
	batch int
	shape agents.Shape
	in    *inputs
	param func(name string) *G.Node
	err   error
}

var _ agents.Layers[*G.Node] = (*builder)(nil)

// node calls make to add a node, unless an earlier call failed.
func (b *builder) node(what string, make func() (*G.Node, error)) *G.Node {
	if b.err != nil {
		return nil
	}
	n, err := make()
	if err != nil {
		b.err = fmt.Errorf("build %s: %w", what, err)
	}
	return n
}

func (b *builder) Rows(of agents.Set) *G.Node {
	if of == agents.Servers {
		return b.in.server
	}
	return b.in.job
}

// Points repeats the inducing points for every sample of the batch.
func (b *builder) Points(name string) *G.Node {
	return b.node(name, func() (*G.Node, error) { return graph.Repeat(b.param(name), b.batch) })
}

func (b *builder) Linear(x *G.Node, l *agents.Linear) *G.Node {
	return b.node(l.Weight, func() (*G.Node, error) {
		act := graph.None
		if l.ReLU {
			act = graph.ReLU
		}
		return graph.Dense(x, b.param(l.Weight), b.param(l.Bias), act)
	})
}

func (b *builder) Attend(x, y *G.Node, block *agents.Block) *G.Node {
	mask := [...]*G.Node{
		agents.Servers: b.in.serverMask, agents.Jobs: b.in.jobMask, agents.Inducing: b.in.inducingMask,
		agents.Candidates: b.in.shown,
	}[block.Keys]
	return b.node(block.Name, func() (*G.Node, error) {
		return graph.MultiHead(x, y, mask, graph.Projections{
			Wq: b.param(block.Query.Weight), Bq: b.param(block.Query.Bias),
			Wk: b.param(block.Key.Weight), Bk: b.param(block.Key.Bias),
			Wv: b.param(block.Value.Weight), Bv: b.param(block.Value.Bias),
			Wo: b.param(block.Out.Weight), Bo: b.param(block.Out.Bias),
		}, b.batch, b.shape.Heads, block.Reference)
	})
}

func (b *builder) Norm(x, more *G.Node, block *agents.Block) *G.Node {
	sum := b.Add(more, x)
	return b.node(block.Name+" norm", func() (*G.Node, error) {
		return graph.LayerNorm(sum, b.param(block.Gain), b.param(block.Bias))
	})
}

func (b *builder) MeanOthers(x *G.Node) *G.Node {
	return b.node("mean of others", func() (*G.Node, error) { return graph.MeanOthers(x, b.in.serverMask, b.batch) })
}

func (b *builder) Readout(servers, jobs *G.Node) *G.Node {
	return b.node("readout", func() (*G.Node, error) {
		return graph.Readout(servers, jobs, graph.Candidates{
			Features: b.in.candidate, Weights: b.in.weights, Of: b.in.of, AgentMask: b.in.serverMask, ItemMask: b.in.jobMask,
		}, b.batch)
	})
}

// Bids returns the bids, [batch, candidates].
func (b *builder) Bids(u *G.Node, weight string) *G.Node {
	return b.node("bids", func() (*G.Node, error) { return score(u, b.param(weight), b.batch) })
}

func (b *builder) Payoffs(servers *G.Node, projection *agents.Linear, weight string) *G.Node {
	q := b.Linear(servers, projection)
	near := b.node("neighbours", func() (*G.Node, error) { return pairs.NeighbourSums(q, b.in.adjacent) })
	return b.node("payoffs", func() (*G.Node, error) { return pairs.Payoff(q, near, b.param(weight), b.in.weights) })
}

// TakenPayoffs adds the payoffs by ties: for each tie those of coalitions of one candidate whose neighbours were carried out.
func (b *builder) TakenPayoffs(candidates *G.Node, projection *agents.Linear, weights *[agents.Ties]string) *G.Node {
	q := b.Linear(candidates, projection)
	var sum *G.Node
	for k, name := range weights {
		near := b.node("neighbours by "+name, func() (*G.Node, error) { return pairs.NeighbourSums(q, b.in.tied[k]) })
		pay := b.node("payoffs by "+name, func() (*G.Node, error) { return pairs.Payoff(q, near, b.param(name), b.in.single) })
		if k == 0 {
			sum = pay
		} else {
			sum = b.Add(sum, pay)
		}
	}
	return sum
}

func (b *builder) Add(x, y *G.Node) *G.Node {
	return b.node("sum", func() (*G.Node, error) { return G.Add(x, y) })
}
