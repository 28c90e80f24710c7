package agents

import (
	"slices"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Net is the production forward pass for one state at a time. It keeps its scratch memory and allocates nothing once that
// has grown. Several may share one set of weights; one is not safe for concurrent use.
type Net struct {
	shape  Shape
	params Params
	blocks [len(blocks)]block

	h, y       []float32 // embeddings of servers and tokens
	z, all     []float32 // the inducing points after they have seen the servers, and their mask
	a, c       []float32 // their parts of the items' hidden layer
	u          []float32 // hidden layer of the items
	match      []float32
	pool, word []float32

	// Bids are the residuals of the items, [servers*tokens], and Stop that of the stop choice.
	Bids []float32
	Stop float32
	// Graph links the agents, and Payoffs are what linked agents' items are worth to each other.
	Graph   coordgraph.Graph[float32]
	Payoffs coordgraph.Payoffs[float32]
	factors []float32
}

type block struct {
	heads      attention.Heads[float32]
	gain, bias []float32
	out        []float32
}

// NewNet returns a network that borrows its weights: it sees later changes to them.
func NewNet(s Shape, p Params) *Net {
	n := &Net{shape: s, params: p, all: slices.Repeat([]float32{1}, s.Inducing)}
	for i, name := range blocks {
		n.blocks[i] = block{
			heads: attention.Heads[float32]{Width: s.Width, Heads: s.Heads, Weights: attention.Weights[float32]{
				Wq: p.get(name + ".wq"), Bq: p.get(name + ".bq"), Wk: p.get(name + ".wk"), Bk: p.get(name + ".bk"),
				Wv: p.get(name + ".wv"), Bv: p.get(name + ".bv"), Wo: p.get(name + ".wo"), Bo: p.get(name + ".bo"),
			}},
			gain: p.get(name + ".gain"), bias: p.get(name + ".bias"),
		}
		if name == tokensToServers || name == inducingToServers {
			n.blocks[i].heads.Reference = ReferenceServers
		}
	}
	return n
}

// Forward computes bids, stop and pair terms for the observation.
func (n *Net) Forward(o *Observation) {
	s, p, d, m := n.shape, n.params, n.shape.Width, n.shape.Hidden
	servers, tokens := o.Servers, o.Tokens
	n.h, n.y = sized(n.h, servers*d), sized(n.y, tokens*d)
	kernel.Dense(n.h, o.Server, p.get("server.w"), p.get("server.b"), s.Server, d, kernel.ReLU)
	kernel.Dense(n.y, o.Token, p.get("token.w"), p.get("token.b"), s.Token, d, kernel.ReLU)
	n.blocks[0].update(n.y, n.h, o.ServerMask, tokens, servers)
	n.blocks[1].update(n.h, n.y, o.TokenMask, servers, tokens)
	// Servers see each other through a few points (induced set attention, Lee et al., ICML 2019): their cost is linear.
	n.z = append(n.z[:0], p.get("inducing.points")...)
	n.blocks[2].update(n.z, n.h, o.ServerMask, s.Inducing, servers)
	n.blocks[3].update(n.h, n.z, n.all, servers, s.Inducing)

	n.a, n.c = sized(n.a, servers*m), sized(n.c, tokens*m)
	kernel.Dense(n.a, n.h, p.get("item.agent.w"), p.get("item.agent.b"), d, m, kernel.None)
	kernel.Dense(n.c, n.y, p.get("item.token.w"), p.get("item.token.b"), d, m, kernel.None)
	n.u = sized(n.u, servers*tokens*m)
	kernel.ItemHidden(n.u, n.a, n.c, o.Item, p.get("item.w"),
		kernel.ItemShape{Batch: 1, Agents: servers, Items: tokens, Features: s.Item, Hidden: m})
	n.Bids = sized(n.Bids, servers*tokens)
	kernel.Dense(n.Bids, n.u, p.get("bid.w"), p.get("bid.b"), m, 1, kernel.None)
	n.stop(o)
	n.pairs(o)
}

// stop scores ending the round from what servers and tokens look like on average.
func (n *Net) stop(o *Observation) {
	d, m, p := n.shape.Width, n.shape.Hidden, n.params
	n.pool, n.word = sized(n.pool, d), sized(n.word, 2*m)
	kernel.MeanPool(n.pool, n.h, o.ServerMask, o.Servers, d)
	kernel.Dense(n.word[:m], n.pool, p.get("stop.servers.w"), p.get("stop.servers.b"), d, m, kernel.Tanh)
	kernel.MeanPool(n.pool, n.y, o.TokenMask, o.Tokens, d)
	kernel.Dense(n.word[m:], n.pool, p.get("stop.tokens.w"), p.get("stop.tokens.b"), d, m, kernel.Tanh)
	for i := range m {
		n.word[i] += n.word[m+i]
	}
	out := n.word[m : m+1]
	kernel.Dense(out, n.word[:m], p.get("stop.w"), p.get("stop.b"), m, 1, kernel.None)
	n.Stop = out[0]
}

// pairs chooses the coordination graph among the servers that could act and computes the payoffs on it.
func (n *Net) pairs(o *Observation) {
	d, m, r, p := n.shape.Width, n.shape.Hidden, n.shape.Rank, n.params
	n.factors = sized(n.factors, o.Servers*o.Tokens*r)
	kernel.Dense(n.factors, n.u, p.get("pair.factor.w"), p.get("pair.factor.b"), m, r, kernel.None)
	n.match = sized(n.match, o.Servers*r)
	kernel.Dense(n.match, n.h, p.get("pair.match.w"), p.get("pair.match.b"), d, r, kernel.None)
	coordgraph.SelectNear(&n.Graph, n.match, r, o.Active, n.shape.Kappa)
	n.Payoffs = coordgraph.Payoffs[float32]{Agents: o.Servers, Items: o.Tokens, Q: n.factors, D: p.get("pair.weight")}
}

// update lets the rows of x attend to those of y: x = layerNorm(x + attention(x, y)).
func (b *block) update(x, y, mask []float32, nx, ny int) {
	b.out = sized(b.out, len(x))
	b.heads.Forward(b.out, x, y, mask, 1, nx, ny)
	for i, v := range b.out {
		b.out[i] = v + x[i]
	}
	kernel.LayerNorm(x, b.out, b.gain, b.bias)
}

func sized(buf []float32, n int) []float32 { return slices.Grow(buf[:0], n)[:n] }
