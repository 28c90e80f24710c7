// Package learn builds the team's network as a Gorgonia graph and computes gradients of the training objectives. Its layers
// call the same kernels as the production forward pass of package agents, so both compute the same bids.
package learn

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	"github.com/clustergym/clustergym/agents"
	attend "github.com/clustergym/clustergym/attention/graph"
	pairs "github.com/clustergym/clustergym/coordgraph/graph"
)

// builder adds layers to a graph and keeps the first error, after which it does nothing.
type builder struct {
	batch int
	shape agents.Shape
	param func(name string) *G.Node
	err   error
}

func (b *builder) keep(what string, n *G.Node, err error) *G.Node {
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("build %s: %w", what, err)
	}
	return n
}

func (b *builder) dense(x *G.Node, name, bias string, act attend.Activation) *G.Node {
	if b.err != nil {
		return nil
	}
	n, err := attend.Dense(x, b.param(name), b.param(bias), act)
	return b.keep(name, n, err)
}

// update lets the rows of x attend to those of y, with scores as they come at reference keys: layerNorm(x + attention(x, y)).
func (b *builder) update(x, y, mask *G.Node, name string, reference int) *G.Node {
	if b.err != nil {
		return nil
	}
	p := func(part string) *G.Node { return b.param(name + "." + part) }
	heads, err := attend.MultiHead(x, y, mask, attend.Projections{
		Wq: p("wq"), Bq: p("bq"), Wk: p("wk"), Bk: p("bk"), Wv: p("wv"), Bv: p("bv"), Wo: p("wo"), Bo: p("bo"),
	}, b.batch, b.shape.Heads, reference)
	return b.join(x, b.keep(name, heads, err), name)
}

// others is update with every row paying the same attention to all others.
func (b *builder) others(x, mask *G.Node, name string) *G.Node {
	v := b.dense(x, name+".wv", name+".bv", attend.None)
	if b.err != nil {
		return nil
	}
	mean, err := attend.MeanOthers(v, mask, b.batch)
	return b.join(x, b.dense(b.keep(name, mean, err), name+".wo", name+".bo", attend.None), name)
}

func (b *builder) join(x, more *G.Node, name string) *G.Node {
	sum := b.add(name+" residual", more, x)
	if b.err != nil {
		return nil
	}
	n, err := attend.LayerNorm(sum, b.param(name+".gain"), b.param(name+".bias"))
	return b.keep(name+" norm", n, err)
}

func (b *builder) add(what string, x, y *G.Node) *G.Node {
	if b.err != nil {
		return nil
	}
	n, err := G.Add(x, y)
	return b.keep(what, n, err)
}

// bids returns the learned parts of the logits, [batch, candidates].
func (b *builder) bids(in *inputs) *G.Node {
	h := b.dense(in.server, "server.w", "server.b", attend.ReLU)
	y := b.dense(in.job, "job.w", "job.b", attend.ReLU)
	h, y = b.attention(h, y, in)
	if b.err != nil {
		return nil
	}
	rows, err := attend.Readout(h, y, attend.Candidates{
		Features: in.candidate, Weights: in.weights, Of: in.of, AgentMask: in.serverMask, ItemMask: in.jobMask,
	}, b.batch)
	u := b.dense(b.keep("candidates", rows, err), "offer.w", "offer.b", attend.ReLU)
	if b.err != nil {
		return nil
	}
	bids, err := score(u, b.param("bid.w"), b.batch)
	if b.keep("bids", bids, err); b.shape.Graph == agents.GraphNone {
		return bids
	}
	return b.add("bids with payoffs", bids, b.payoffs(h, in))
}

func (b *builder) attention(h, y *G.Node, in *inputs) (*G.Node, *G.Node) {
	seen := b.update(y, h, in.serverMask, "jobs_to_servers", agents.ReferenceServers)
	if b.shape.Attention == agents.Attend {
		h = b.update(h, seen, in.jobMask, "servers_to_jobs", 0)
		z := b.update(b.points(), h, in.serverMask, "inducing_to_servers", agents.ReferenceServers)
		return b.update(h, z, in.inducingMask, "servers_to_inducing", 0), seen
	}
	h = b.update(h, y, in.jobMask, "servers_to_jobs", 0)
	if b.shape.Attention == agents.AttendMean {
		h = b.others(h, in.serverMask, "servers_to_inducing")
	}
	return h, seen
}

// points gives every sample of the batch the inducing points.
func (b *builder) points() *G.Node {
	if b.err != nil {
		return nil
	}
	n, err := attend.Repeat(b.param("inducing.points"), b.batch)
	return b.keep("inducing points", n, err)
}

func (b *builder) payoffs(h *G.Node, in *inputs) *G.Node {
	q := b.dense(h, "pair.w", "pair.b", attend.None)
	if b.err != nil {
		return nil
	}
	near, err := pairs.NeighbourSums(q, in.adjacent)
	if b.keep("neighbours", near, err); b.err != nil {
		return nil
	}
	n, err := pairs.Payoff(q, near, b.param("pair.weight"), in.weights)
	return b.keep("payoffs", n, err)
}
