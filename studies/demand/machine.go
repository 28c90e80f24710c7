package demand

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	"github.com/clustergym/clustergym/attention/graph"
	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/rng"
)

// machine computes the mean squared error of a network, and its gradient, on batches of a fixed number of samples. Its graph is
// the network unrolled over the window, in which every step reads the same weights. It is built once and runs for all batches.
// All numbers are float64, like those of LSTM. Not safe for concurrent use.
type machine struct {
	rows   int
	window [LSTMWindow]*G.Node // each [B,1], in units of the network
	target *G.Node             // [B,1]
	params []*G.Node           // in the order of LSTM.Params, without the scale
	said   G.Value             // the network's prediction, [B,1]
	cost   G.Value
	vm     G.VM
}

// newMachine builds and compiles the graph for networks of the given width. Two goroutines must not call it at once.
func newMachine(width, rows int) (m *machine, err error) {
	defer func() {
		// Gorgonia panics on some mistakes in building; return them as errors.
		if r := recover(); r != nil {
			err = fmt.Errorf("build demand graph: %v", r)
		}
	}()
	m = &machine{rows: rows}
	g := G.NewGraph()
	node := func(name string, shape ...int) *G.Node { return graphop.Input[float64](g, name, shape...) }
	for t := range m.window {
		m.window[t] = node(fmt.Sprintf("window.%d", t), rows, 1)
	}
	m.target = node("target", rows, 1)
	named := map[string]*G.Node{}
	for _, p := range trained(NewLSTM(width, rng.Stream(0))) {
		named[p.name] = node(p.name, p.shape...)
		m.params = append(m.params, named[p.name])
	}
	zero := node("zero", rows, width) // both states before the window
	cost, err := m.unroll(named, zero)
	if err != nil {
		return nil, fmt.Errorf("build demand graph: %w", err)
	}
	G.Read(cost, &m.cost)
	if _, err := G.Grad(cost, m.params...); err != nil {
		return nil, fmt.Errorf("build demand gradients: %w", err)
	}
	m.vm = G.NewTapeMachine(g, G.BindDualValues(m.params...))
	return m, nil
}

// unroll adds the layers over all steps, the head and the loss.
func (m *machine) unroll(named map[string]*G.Node, zero *G.Node) (*G.Node, error) {
	xs := m.window[:]
	for k := range LSTMLayers {
		w := func(part string) *G.Node { return named[fmt.Sprintf("layer%d.%s", k, part)] }
		h, c := zero, zero
		outputs := make([]*G.Node, len(xs))
		for t, x := range xs {
			a, err := gates(x, h, w("w"), w("u"), w("b"))
			if err != nil {
				return nil, err
			}
			if c, err = cell(a, c); err != nil {
				return nil, err
			}
			if h, err = hidden(a, c); err != nil {
				return nil, err
			}
			outputs[t] = h
		}
		xs = outputs
	}
	said, err := graph.Dense(xs[len(xs)-1], named["head.w"], named["head.b"], graph.None)
	if err != nil {
		return nil, err
	}
	G.Read(said, &m.said)
	miss, err := G.Sub(said, m.target)
	if err != nil {
		return nil, err
	}
	square, err := G.Square(miss)
	if err != nil {
		return nil, err
	}
	return G.Mean(square)
}

// close releases the resources of the machine.
func (m *machine) close() error { return m.vm.Close() }

// run computes the mean squared error of n, in units of the network, on a batch of exactly as many samples as the machine has
// rows. It writes the gradient into grad, in the layout of the trained weights one after another.
func (m *machine) run(n *LSTM, batch []sample, grad []float64) (float64, error) {
	if len(batch) != m.rows {
		return 0, fmt.Errorf("run %d samples on a machine for %d", len(batch), m.rows)
	}
	for i, p := range trained(n) {
		copy(graphop.Values[float64](m.params[i]), p.data)
	}
	target := graphop.Values[float64](m.target)
	for r, s := range batch {
		for t, u := range s.window {
			graphop.Values[float64](m.window[t])[r] = (u - n.Scale[0]) / n.Scale[1]
		}
		target[r] = (s.next - s.window[LSTMWindow-1]) / n.Scale[2]
	}
	if err := graphop.RunBack(m.vm, m.params, grad); err != nil {
		return 0, fmt.Errorf("run demand graph: %w", err)
	}
	return m.cost.Data().(float64), nil
}

// weight is a trained tensor of a network; data is the network's own memory.
type weight struct {
	name  string
	shape []int
	data  []float64
}

// trained returns the weights that training changes: all except the scale.
func trained(n *LSTM) []weight {
	var ws []weight
	for _, p := range n.Params() {
		if p.Name != "scale" {
			ws = append(ws, weight{p.Name, p.Shape, p.Data.([]float64)})
		}
	}
	return ws
}

// size returns how many numbers training changes.
func size(n *LSTM) int {
	total := 0
	for _, w := range trained(n) {
		total += len(w.data)
	}
	return total
}
