package yardsticks

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	"github.com/clustergym/clustergym/attention/graph"
	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// machine computes gradients of a net on a fixed number of rows, as a Gorgonia graph that is built once. T is float64 only in
// checks of gradients. Not safe for concurrent use.
//
// The graph's cost is the sum over the rows of slope times score. If the slopes are the derivatives of a loss with respect to the
// scores, its gradient is that of the loss. So both learners share the graph, whatever their losses.
type machine[T kernel.Float] struct {
	rows   int
	in     *G.Node // [rows,width]
	slope  *G.Node // [rows,1]
	params []*G.Node
	scores G.Value
	vm     G.VM
	grad   []T // scratch: the gradient of a run
}

// newMachine builds and compiles the graph. Two goroutines must not call it at once.
func newMachine[T kernel.Float](width, rows int) (m *machine[T], err error) {
	defer func() {
		// Gorgonia panics on some mistakes in building; return them as errors.
		if r := recover(); r != nil {
			err = fmt.Errorf("build graph of a yardstick: %v", r)
		}
	}()
	g := G.NewGraph()
	m = &machine[T]{rows: rows, in: graphop.Input[T](g, "rows", rows, width), slope: graphop.Input[T](g, "slope", rows, 1)}
	x := m.in
	for k, l := range shape(width) {
		w := graphop.Input[T](g, fmt.Sprintf("w%d", k), l.in, l.out)
		b := graphop.Input[T](g, fmt.Sprintf("b%d", k), l.out)
		m.params = append(m.params, w, b)
		m.grad = append(m.grad, make([]T, l.in*l.out+l.out)...)
		if x, err = graph.Dense(x, w, b, l.act); err != nil {
			return nil, fmt.Errorf("build graph of a yardstick: %w", err)
		}
	}
	G.Read(x, &m.scores)
	product, err := G.HadamardProd(x, m.slope)
	if err != nil {
		return nil, fmt.Errorf("build graph of a yardstick: %w", err)
	}
	cost, err := G.Sum(product)
	if err != nil {
		return nil, fmt.Errorf("build graph of a yardstick: %w", err)
	}
	if _, err := G.Grad(cost, m.params...); err != nil {
		return nil, fmt.Errorf("build gradients of a yardstick: %w", err)
	}
	m.vm = G.NewTapeMachine(g, G.BindDualValues(m.params...))
	return m, nil
}

// add adds to grad the gradient of the sum over the rows of slope times the score of n. It takes at most as many rows as the
// machine has. grad has the layout of the net's weights one after another.
func (m *machine[T]) add(grad []T, n *net, rows, slopes []float32) error {
	if len(slopes) > m.rows || len(rows) != len(slopes)*n.width {
		return fmt.Errorf("run %d rows with %d slopes on a machine for %d", len(rows)/n.width, len(slopes), m.rows)
	}
	for i, p := range n.params() {
		graphop.Convert(graphop.Values[T](m.params[i]), p.Data.([]float32))
	}
	for _, in := range []struct {
		node *G.Node
		x    []float32
	}{{m.in, rows}, {m.slope, slopes}} {
		values := graphop.Values[T](in.node)
		clear(values[len(in.x):])
		graphop.Convert(values, in.x)
	}
	if err := graphop.RunBack(m.vm, m.params, m.grad); err != nil {
		return fmt.Errorf("run graph of a yardstick: %w", err)
	}
	for i, x := range m.grad {
		grad[i] += x
	}
	return nil
}
