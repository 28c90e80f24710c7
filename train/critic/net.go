package critic

import (
	"slices"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Net computes the network's number for one state at a time, in plain Go. It keeps its working memory. Several Nets may share one
// set of weights. A Net is not safe for concurrent use.
type Net struct {
	shape  Shape
	params agents.Params
	state  *State
	out    map[string][]float32 // output of each dense layer, by name
	ones   []float32            // a mask in which every row is valid
	row    []float32            // output of pool
}

var _ layers[[]float32] = (*Net)(nil)

// NewNet returns a network that shares its weights with p: it uses later changes to them.
func NewNet(s Shape, p agents.Params) *Net {
	return &Net{shape: s, params: p, out: map[string][]float32{}}
}

// Value returns the network's number for a state.
func (n *Net) Value(s *State) float64 {
	for len(n.ones) < max(s.Servers, s.Jobs) {
		n.ones = append(n.ones, 1)
	}
	n.state = s
	return float64(walk(layers[[]float32](n))[0])
}

func (n *Net) servers() []float32 { return n.state.Server }

func (n *Net) jobs() []float32 { return n.state.Job }

func (n *Net) dense(x []float32, name string, act kernel.Activation) []float32 {
	at := find(n.params, name)
	w, b := n.params[at], n.params[at+1].Data
	in := w.Shape[0]
	y := slices.Grow(n.out[name][:0], len(x)/in*len(b))[:len(x)/in*len(b)]
	n.out[name] = y
	kernel.Dense(y, x, w.Data, b, in, len(b), act)
	return y
}

func (n *Net) pool(servers, jobs []float32) []float32 {
	s := attention.PoolShape{
		Batch: 1, Agents: n.state.Servers, Items: n.state.Jobs, Width: n.shape.Width, Features: n.shape.Features,
	}
	n.row = slices.Grow(n.row[:0], s.Row())[:s.Row()]
	attention.Pool(n.row, servers, jobs, attention.PoolData[float32]{
		Features: n.state.Features, AgentMask: n.ones[:s.Agents], ItemMask: n.ones[:s.Items],
	}, s)
	return n.row
}
