// Package learn builds the team's network as a Gorgonia graph and computes gradients of the training objective. Its layers
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
	batch, servers, tokens int
	heads                  int
	params                 map[string]*G.Node
	err                    error
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
	n, err := attend.Dense(x, b.params[name], b.params[bias], act)
	return b.keep(name, n, err)
}

// update lets the rows of x attend to those of y, with scores as they come at reference keys: layerNorm(x + attention(x, y)).
func (b *builder) update(x, y, mask *G.Node, name string, reference int) *G.Node {
	if b.err != nil {
		return nil
	}
	p := func(part string) *G.Node { return b.params[name+"."+part] }
	heads, err := attend.MultiHead(x, y, mask, attend.Projections{
		Wq: p("wq"), Bq: p("bq"), Wk: p("wk"), Bk: p("bk"), Wv: p("wv"), Bv: p("bv"), Wo: p("wo"), Bo: p("bo"),
	}, b.batch, b.heads, reference)
	if b.keep(name, heads, err); b.err != nil {
		return nil
	}
	sum, err := G.Add(heads, x)
	if b.keep(name+" residual", sum, err); b.err != nil {
		return nil
	}
	n, err := attend.LayerNorm(sum, p("gain"), p("bias"))
	return b.keep(name+" norm", n, err)
}

// logits returns the scores of all choices, [batch, servers*tokens+1]: prior + residual bids + payoffs of what was committed
// before in the round.
func (b *builder) logits(in *inputs) *G.Node {
	h := b.dense(in.server, "server.w", "server.b", attend.ReLU)
	y := b.dense(in.token, "token.w", "token.b", attend.ReLU)
	y = b.update(y, h, in.serverMask, "tokens_to_servers", agents.ReferenceServers)
	h = b.update(h, y, in.tokenMask, "servers_to_tokens", 0)
	z := b.update(b.points(), h, in.serverMask, "inducing_to_servers", agents.ReferenceServers)
	h = b.update(h, z, in.inducingMask, "servers_to_inducing", 0)
	u := b.items(h, y, in)
	bids := b.dense(u, "bid.w", "bid.b", attend.None)
	bonus := b.bonus(u, h, in)
	stop := b.stop(h, y, in)
	if b.err != nil {
		return nil
	}
	n, err := score(in.prior, bids, bonus, stop)
	return b.keep("logits", n, err)
}

// points gives every sample of the batch the inducing points.
func (b *builder) points() *G.Node {
	if b.err != nil {
		return nil
	}
	n, err := attend.Repeat(b.params["inducing.points"], b.batch)
	return b.keep("inducing points", n, err)
}

func (b *builder) items(h, y *G.Node, in *inputs) *G.Node {
	a := b.dense(h, "item.agent.w", "item.agent.b", attend.None)
	c := b.dense(y, "item.token.w", "item.token.b", attend.None)
	if b.err != nil {
		return nil
	}
	u, err := attend.ItemHidden(a, c, in.item, b.params["item.w"], b.batch)
	return b.keep("items", u, err)
}

func (b *builder) bonus(u, h *G.Node, in *inputs) *G.Node {
	factors := b.dense(u, "pair.factor.w", "pair.factor.b", attend.None)
	match := b.dense(h, "pair.match.w", "pair.match.b", attend.None)
	if b.err != nil {
		return nil
	}
	n, err := pairs.PairBonus(factors, match, b.params["pair.weight"], in.adjacent, in.committed)
	return b.keep("payoffs", n, err)
}

func (b *builder) stop(h, y *G.Node, in *inputs) *G.Node {
	word := func(x, mask *G.Node, name string) *G.Node {
		if b.err != nil {
			return nil
		}
		pool, err := attend.MeanPool(x, mask, b.batch)
		return b.dense(b.keep(name, pool, err), name+".w", name+".b", attend.Tanh)
	}
	s, t := word(h, in.serverMask, "stop.servers"), word(y, in.tokenMask, "stop.tokens")
	if b.err != nil {
		return nil
	}
	sum, err := G.Add(s, t)
	return b.dense(b.keep("stop", sum, err), "stop.w", "stop.b", attend.None)
}
