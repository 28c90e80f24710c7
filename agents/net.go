package agents

import (
	"slices"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Net is the production forward pass for one observation at a time: it computes Walk on numbers.
//
// The network embeds servers and jobs. Jobs attend to servers, servers to jobs, and servers to each other through a few inducing
// points. The hidden layer of a candidate reads five inputs: the weighted sum of the embeddings of its coalition (the servers
// that take part in it), its job's embedding, the mean server's, the mean job's, and the candidate's own features. It yields the
// candidate's bid. A payoff is added to the bid: with q the projection of a server, P the weighted sum of the coalition's q, and
// M the weighted sum, over the coalition, of each member's q plus its neighbours' q in the coordination graph, the payoff is
// sum_r D_r P_r M_r. Bids do not depend on the order of servers, jobs or candidates, except in GraphRandom, which uses the
// servers' numbers.
//
// A Net keeps its working memory and stops allocating once that has grown. Several Nets may share one set of weights. A Net is
// not safe for concurrent use.
type Net struct {
	shape   Shape
	params  Params
	linears map[string]*linear // by the name of the weight
	blocks  map[string]*block  // by name

	obs         *Observation
	ones        []float32 // a mask in which every row is valid
	weights, of []float32 // the candidates' servers and jobs, as the kernels read them
	mean        []float32 // of the other servers' rows
	rows        []float32 // for each candidate, the input of the hidden layer
	near        []float32 // for each server, the sum of its projection and its neighbours'
	payoffs     []float32
	active      []bool // whether each server is in any coalition
	buf         coordgraph.PayoffScratch[float32]
	together

	// Bids are the learned parts of the candidates' logits, [candidates].
	Bids []float32
	// Graph links the servers of coalitions, or the candidates if Shape.Joint; it has no edges if Shape.Graph is none.
	Graph coordgraph.Graph[float32]
}

// linear contains the weights and the output of a Linear.
type linear struct {
	w, b, out []float32
	act       kernel.Activation
}

// block contains the weights and the output of a Block.
type block struct {
	heads           attention.Heads[float32]
	gain, bias, out []float32
}

// NewNet returns a network that shares its weights with p: it uses later changes to them.
func NewNet(s Shape, p Params) *Net {
	return &Net{shape: s, params: p, linears: map[string]*linear{}, blocks: map[string]*block{}}
}

// Forward computes Bids and, unless Shape.Joint, Graph for the observation. The observation must not change before the last call
// of After or Adjacency that is about it.
func (n *Net) Forward(o *Observation) {
	for len(n.ones) < max(o.Servers, o.Jobs, o.Candidates, n.shape.Inducing) {
		n.ones = append(n.ones, 1)
	}
	n.obs = o
	n.coalitions(o)
	if n.shape.Graph == GraphNone {
		coordgraph.SelectRandom(&n.Graph, n.shape.Nodes(o), nil, 0)
	}
	n.linked = false
	n.Bids = Walk(&n.shape, Layers[[]float32](forward{n}))
}

// Adjacency fills dst with the edges of the coordination graph for the last observation, see coordgraph.Graph.Adjacency.
func (n *Net) Adjacency(dst []float32) {
	n.link()
	n.Graph.Adjacency(dst)
}

// coalitions reads from an observation which servers and which job each candidate is about.
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

func sized[T any](buf []T, n int) []T { return slices.Grow(buf[:0], n)[:n] }
