package agents

import (
	"slices"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Net is the production forward pass for one observation at a time.
//
// Servers and jobs are embedded; jobs attend to servers, servers to jobs, and servers to each other through a few inducing
// points. A candidate's hidden layer reads the weighted sum of its coalition's embeddings, its job's, the mean server's, the mean
// job's and the candidate's own features, and gives its bid. Payoffs come on top: with q the projection of a server, P the
// weighted sum of a coalition's q, M that of each member's q and its neighbours' in the coordination graph, the bid gains
// sum_r D_r P_r M_r. Nothing depends on the order of servers, jobs or candidates, but for the numbers of servers in GraphRandom.
//
// It keeps its scratch memory and allocates nothing once that has grown. Several may share one set of weights; one is not
// safe for concurrent use.
type Net struct {
	shape  Shape
	params Params
	blocks [len(blocks)]block

	h, y        []float32 // embeddings of servers and jobs
	seen        []float32 // the jobs before they saw the servers
	z           []float32 // the inducing points after they have seen the servers
	ones        []float32 // a mask of what is all there
	weights, of []float32 // the candidates' servers and jobs, as the kernels read them
	rows, u     []float32 // of the candidates: what the hidden layer reads and gives
	q, near     []float32 // of the servers: projections, and their sums with the neighbours'
	payoffs     []float32
	active      []bool // servers in any coalition
	buf         coordgraph.PayoffScratch[float32]

	// Bids are the learned parts of the candidates' logits, [candidates].
	Bids []float32
	// Graph links the servers of coalitions; without edges if Shape.Graph is none.
	Graph coordgraph.Graph[float32]
}

type block struct {
	heads      attention.Heads[float32]
	gain, bias []float32
	out        []float32
	v, mean    []float32
}

// NewNet returns a network that borrows its weights: it sees later changes to them.
func NewNet(s Shape, p Params) *Net {
	n := &Net{shape: s, params: p}
	for i, name := range blocks {
		n.blocks[i] = block{
			heads: attention.Heads[float32]{Width: s.Width, Heads: s.Heads, Weights: attention.Weights[float32]{
				Wq: p.get(name + ".wq"), Bq: p.get(name + ".bq"), Wk: p.get(name + ".wk"), Bk: p.get(name + ".bk"),
				Wv: p.get(name + ".wv"), Bv: p.get(name + ".bv"), Wo: p.get(name + ".wo"), Bo: p.get(name + ".bo"),
			}},
			gain: p.get(name + ".gain"), bias: p.get(name + ".bias"),
		}
		if name == jobsToServers || name == inducingToServers {
			n.blocks[i].heads.Reference = ReferenceServers
		}
	}
	return n
}

// Forward computes Bids and Graph for the observation.
func (n *Net) Forward(o *Observation) {
	for len(n.ones) < max(o.Servers, o.Jobs, n.shape.Inducing) {
		n.ones = append(n.ones, 1)
	}
	n.coalitions(o)
	n.embed(o)
	s, p := n.shape, n.params
	rows := attention.ReadoutShape{
		Batch: 1, Agents: o.Servers, Items: o.Jobs, Candidates: o.Candidates, Width: s.Width, Features: s.Candidate,
	}
	n.rows = sized(n.rows, o.Candidates*s.row())
	attention.Readout(n.rows, n.h, n.y, attention.ReadoutData[float32]{
		Features: o.Candidate, Weights: n.weights, Of: n.of, AgentMask: n.ones[:o.Servers], ItemMask: n.ones[:o.Jobs],
	}, rows)
	n.u = sized(n.u, o.Candidates*s.Hidden)
	kernel.Dense(n.u, n.rows, p.get("offer.w"), p.get("offer.b"), s.row(), s.Hidden, kernel.ReLU)
	n.Bids = sized(n.Bids, o.Candidates)
	kernel.Dense(n.Bids, n.u, p.get("bid.w"), nil, s.Hidden, 1, kernel.None)
	n.pay(o)
}

// coalitions reads who takes part in what.
func (n *Net) coalitions(o *Observation) {
	n.weights, n.of = sized(n.weights, o.Candidates*o.Servers), n.of[:0]
	n.active = slices.Grow(n.active[:0], o.Servers)[:o.Servers]
	clear(n.weights)
	clear(n.active)
	for _, s := range o.Shares {
		n.weights[int(s.Candidate)*o.Servers+int(s.Server)] = s.Weight
		n.active[s.Server] = n.active[s.Server] || s.Weight != 0
	}
	for _, k := range o.Of {
		n.of = append(n.of, float32(k))
	}
}

// embed fills h and y.
func (n *Net) embed(o *Observation) {
	s, p, d := n.shape, n.params, n.shape.Width
	servers, jobs := n.ones[:o.Servers], n.ones[:o.Jobs]
	n.h, n.y = sized(n.h, o.Servers*d), sized(n.y, o.Jobs*d)
	kernel.Dense(n.h, o.Server, p.get("server.w"), p.get("server.b"), s.Server, d, kernel.ReLU)
	kernel.Dense(n.y, o.Job, p.get("job.w"), p.get("job.b"), s.Job, d, kernel.ReLU)
	if s.Attention == Attend {
		n.blocks[0].update(n.y, n.h, servers)
		n.blocks[1].update(n.h, n.y, jobs)
		// Servers see each other through a few points (induced set attention, Lee et al., ICML 2019): their cost is linear.
		n.z = append(n.z[:0], p.get("inducing.points")...)
		n.blocks[2].update(n.z, n.h, servers)
		n.blocks[3].update(n.h, n.z, n.ones[:s.Inducing])
		return
	}
	// Jobs that have seen the servers would tell each of the others.
	n.seen = append(n.seen[:0], n.y...)
	n.blocks[0].update(n.y, n.h, servers)
	n.blocks[1].update(n.h, n.seen, jobs)
	if s.Attention == AttendMean {
		n.blocks[3].others(n.h, servers)
	}
}

// pay adds the payoffs to the bids.
func (n *Net) pay(o *Observation) {
	s, p := n.shape, n.params
	n.q, n.near = sized(n.q, o.Servers*s.Rank), sized(n.near, o.Servers*s.Rank)
	kernel.Dense(n.q, n.h, p.get("pair.w"), p.get("pair.b"), s.Width, s.Rank, kernel.None)
	switch s.Graph {
	case GraphNone:
		coordgraph.SelectNear(&n.Graph, n.q, s.Rank, n.active, 0)
		return
	case GraphRandom:
		coordgraph.SelectRandom(&n.Graph, o.Servers, n.active, s.Kappa)
	case GraphFull:
		coordgraph.SelectAll(&n.Graph, o.Servers, n.active)
	default:
		coordgraph.SelectNear(&n.Graph, n.q, s.Rank, n.active, s.Kappa)
	}
	n.Graph.Sums(n.near, n.q, s.Rank)
	n.payoffs = sized(n.payoffs, o.Candidates)
	coordgraph.Payoff(n.payoffs, n.q, n.near, p.get("pair.weight"), n.weights,
		coordgraph.PayoffShape{Batch: 1, Agents: o.Servers, Coalitions: o.Candidates, Rank: s.Rank}, &n.buf)
	for i, v := range n.payoffs {
		n.Bids[i] += v
	}
}

// update lets the rows of x attend to those of y: x = layerNorm(x + attention(x, y)).
func (b *block) update(x, y, mask []float32) {
	b.out = sized(b.out, len(x))
	b.heads.Forward(b.out, x, y, mask, 1, len(x)/b.heads.Width, len(mask))
	b.join(x)
}

// others is update with every row paying the same attention to all others.
func (b *block) others(x, mask []float32) {
	d, w := b.heads.Width, &b.heads.Weights
	b.v, b.mean, b.out = sized(b.v, len(x)), sized(b.mean, len(x)), sized(b.out, len(x))
	kernel.Dense(b.v, x, w.Wv, w.Bv, d, d, kernel.None)
	attention.MeanOthers(b.mean, b.v, mask, len(mask), d)
	kernel.Dense(b.out, b.mean, w.Wo, w.Bo, d, d, kernel.None)
	b.join(x)
}

func (b *block) join(x []float32) {
	for i, v := range b.out {
		b.out[i] = v + x[i]
	}
	kernel.LayerNorm(x, b.out, b.gain, b.bias)
}

func sized(buf []float32, n int) []float32 { return slices.Grow(buf[:0], n)[:n] }
