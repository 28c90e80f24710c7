package agents

import (
	"slices"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Net is the production forward pass for one observation at a time: Walk on numbers.
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
	shape   Shape
	params  Params
	linears map[string]*linear // by the names of their weights
	blocks  map[string]*block  // by their names

	obs         *Observation
	ones        []float32 // a mask of what is all there
	weights, of []float32 // the candidates' servers and jobs, as the kernels read them
	mean        []float32 // of the other servers' rows
	rows        []float32 // of the candidates: what the hidden layer reads
	near        []float32 // of the servers: sums of their projections and the neighbours'
	payoffs     []float32
	active      []bool // servers in any coalition
	buf         coordgraph.PayoffScratch[float32]

	// Bids are the learned parts of the candidates' logits, [candidates].
	Bids []float32
	// Graph links the servers of coalitions; without edges if Shape.Graph is none.
	Graph coordgraph.Graph[float32]
}

// linear is a Linear with its numbers and its output.
type linear struct {
	w, b, out []float32
	act       kernel.Activation
}

// block is a Block with its numbers and its output.
type block struct {
	heads           attention.Heads[float32]
	gain, bias, out []float32
}

// NewNet returns a network that borrows its weights: it sees later changes to them.
func NewNet(s Shape, p Params) *Net {
	return &Net{shape: s, params: p, linears: map[string]*linear{}, blocks: map[string]*block{}}
}

// Forward computes Bids and Graph for the observation.
func (n *Net) Forward(o *Observation) {
	for len(n.ones) < max(o.Servers, o.Jobs, n.shape.Inducing) {
		n.ones = append(n.ones, 1)
	}
	n.obs = o
	n.coalitions(o)
	if n.shape.Graph == GraphNone {
		coordgraph.SelectRandom(&n.Graph, o.Servers, n.active, 0)
	}
	n.Bids = Walk(&n.shape, Layers[[]float32](forward{n}))
	n.obs = nil
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

func sized(buf []float32, n int) []float32 { return slices.Grow(buf[:0], n)[:n] }
