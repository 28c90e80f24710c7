package agents

import (
	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/internal/kernel"
)

// forward implements the network's layers on numbers, row by row. Every layer has its own output, which is valid until the next
// call of Net.Forward.
type forward struct{ *Net }

var _ Layers[[]float32] = forward{}

func (n forward) Rows(of Set) []float32 {
	if of == Servers {
		return n.obs.Server
	}
	return n.obs.Job
}

func (n forward) Points(name string) []float32 { return n.params.get(name) }

func (n forward) Linear(x []float32, l *Linear) []float32 {
	at := n.linears[l.Weight]
	if at == nil {
		at = &linear{w: n.params.get(l.Weight), b: n.params.get(l.Bias)}
		if l.ReLU {
			at.act = kernel.ReLU
		}
		n.linears[l.Weight] = at
	}
	out := len(at.b)
	in := len(at.w) / out
	at.out = sized(at.out, len(x)/in*out)
	kernel.Dense(at.out, x, at.w, at.b, in, out, at.act)
	return at.out
}

func (n forward) block(b *Block) *block {
	at := n.blocks[b.Name]
	if at == nil {
		p := n.params.get
		at = &block{
			heads: attention.Heads[float32]{
				Width: n.shape.Width, Heads: n.shape.Heads, Reference: b.Reference,
				Weights: attention.Weights[float32]{
					Wq: p(b.Query.Weight), Bq: p(b.Query.Bias), Wk: p(b.Key.Weight), Bk: p(b.Key.Bias),
					Wv: p(b.Value.Weight), Bv: p(b.Value.Bias), Wo: p(b.Out.Weight), Bo: p(b.Out.Bias),
				},
			},
			gain: p(b.Gain), bias: p(b.Bias),
		}
		n.blocks[b.Name] = at
	}
	return at
}

func (n forward) Attend(x, y []float32, b *Block) []float32 {
	at, d := n.block(b), n.shape.Width
	keys := len(y) / d
	at.out = sized(at.out, len(x))
	at.heads.Forward(at.out, x, y, n.ones[:keys], 1, len(x)/d, keys)
	return at.out
}

func (n forward) Norm(x, more []float32, b *Block) []float32 {
	for i, v := range more {
		more[i] = v + x[i]
	}
	at := n.block(b)
	kernel.LayerNorm(more, more, at.gain, at.bias)
	return more
}

func (n forward) MeanOthers(x []float32) []float32 {
	n.mean = sized(n.mean, len(x))
	attention.MeanOthers(n.mean, x, n.ones[:n.obs.Servers], n.obs.Servers, n.shape.Width)
	return n.mean
}

func (n forward) Readout(servers, jobs []float32) []float32 {
	s, o := &n.shape, n.obs
	n.rows = sized(n.rows, o.Candidates*s.row())
	attention.Readout(n.rows, servers, jobs, attention.ReadoutData[float32]{
		Features: o.Candidate, Weights: n.weights, Of: n.of, AgentMask: n.ones[:o.Servers], ItemMask: n.ones[:o.Jobs],
	}, attention.ReadoutShape{
		Batch: 1, Agents: o.Servers, Items: o.Jobs, Candidates: o.Candidates, Width: s.Width, Features: s.Candidate,
	})
	return n.rows
}

func (n forward) Bids(u []float32, weight string) []float32 {
	n.Net.Bids = sized(n.Net.Bids, n.obs.Candidates)
	kernel.Dense(n.Net.Bids, u, n.params.get(weight), nil, n.shape.Hidden, 1, kernel.None)
	return n.Net.Bids
}

func (n forward) Payoffs(servers []float32, projection *Linear, weight string) []float32 {
	s, o := &n.shape, n.obs
	q := n.Linear(servers, projection)
	switch s.Graph {
	case GraphRandom:
		coordgraph.SelectRandom(&n.Graph, o.Servers, n.active, s.Kappa)
	case GraphFull:
		coordgraph.SelectAll(&n.Graph, o.Servers, n.active)
	default:
		coordgraph.SelectNear(&n.Graph, q, s.Rank, n.active, s.Kappa)
	}
	n.near = sized(n.near, len(q))
	n.Graph.Sums(n.near, q, s.Rank)
	n.payoffs = sized(n.payoffs, o.Candidates)
	coordgraph.Payoff(n.payoffs, q, n.near, n.params.get(weight), n.weights,
		coordgraph.PayoffShape{Batch: 1, Agents: o.Servers, Coalitions: o.Candidates, Rank: s.Rank}, &n.buf)
	return n.payoffs
}

func (n forward) TakenPayoffs(candidates []float32, projection *Linear, weights *[Ties]string) []float32 {
	n.factors = n.Linear(candidates, projection)
	for k, name := range weights {
		n.scales[k] = n.params.get(name)
	}
	n.Net.alone = append(n.Net.alone[:0], n.Net.Bids...)
	n.payoffs = sized(n.payoffs, n.obs.Candidates)
	n.pay(n.payoffs, n.obs.Taken)
	return n.payoffs
}

func (n forward) Add(x, y []float32) []float32 {
	for i, v := range y {
		x[i] += v
	}
	return x
}
