package runtimes

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	"github.com/clustergym/clustergym/attention/graph"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// machine computes the gradient of the loss for batches of up to a number of rows; smaller ones are padded. The loss of an
// example is the negative logarithm of the likelihood of what happened: for each bin in which the job could have ended it adds
// log(1 + e^v), and for the one in which it ended it subtracts v, where v is the logarithm of the odds after the correction. T
// is float32 for training and float64 for gradient checks.
type machine[T kernel.Float] struct {
	rows                int
	x, base, risk, ends *G.Node
	params              []*G.Node // weights and biases of the layers in turn
	cost                G.Value
	vm                  G.VM
}

// newMachine builds and compiles the graph. Only one call may run at a time.
func newMachine[T kernel.Float](rows, hidden int) (m *machine[T], err error) {
	defer func() {
		// Gorgonia panics on some mistakes in building; return an error for them.
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("build graph of run times: %v", r)
		}
	}()
	g := G.NewGraph()
	m = &machine[T]{
		rows: rows, x: graphop.Input[T](g, "x", rows, belief.Inputs), base: graphop.Input[T](g, "base", rows, 1),
		risk: graphop.Input[T](g, "risk", rows, 1), ends: graphop.Input[T](g, "ends", rows, 1),
	}
	h, in := m.x, belief.Inputs
	for i, out := range [...]int{hidden, hidden, 1} {
		w, b := graphop.Input[T](g, fmt.Sprintf("w%d", i), in, out), graphop.Input[T](g, fmt.Sprintf("b%d", i), out)
		act := graph.ReLU
		if i == 2 {
			act = graph.None
		}
		if h, err = graph.Dense(h, w, b, act); err != nil {
			return nil, fmt.Errorf("build graph of run times: %w", err)
		}
		m.params = append(m.params, w, b)
		in = out
	}
	v := G.Must(G.Add(h, m.base))
	loss := G.Must(G.Sub(G.Must(G.HadamardProd(m.risk, G.Must(G.Softplus(v)))), G.Must(G.HadamardProd(m.ends, v))))
	cost := G.Must(G.Sum(loss))
	G.Read(cost, &m.cost)
	if _, err := G.Grad(cost, m.params...); err != nil {
		return nil, fmt.Errorf("build gradients of run times: %w", err)
	}
	m.vm = G.NewTapeMachine(g, G.BindDualValues(m.params...))
	return m, nil
}

func (m *machine[T]) close() {
	_ = m.vm.Close() // a machine contains nothing to lose
}

// run computes the mean loss of a batch, whose inputs are normalised, and writes its gradient by the weights, in the order of
// its parts. The examples must have at most m.rows bins together.
func (m *machine[T]) run(member *belief.Member, batch []*Example, grad []T) (float64, error) {
	for i, part := range member.Parts() {
		graphop.Convert(graphop.Values[T](m.params[i]), part)
	}
	each := T(1) / T(len(batch))
	x, base, risk, ends := graphop.Values[T](m.x), graphop.Values[T](m.base), graphop.Values[T](m.risk), graphop.Values[T](m.ends)
	clear(risk) // of rows that no example fills
	clear(ends)
	at := 0
	for _, e := range batch {
		n := len(e.Base)
		if at+n > m.rows {
			return 0, fmt.Errorf("run examples of more than %d bins", m.rows)
		}
		graphop.Convert(x[at*belief.Inputs:], e.X)
		graphop.Convert(base[at:], e.Base)
		for k := range n {
			risk[at+k] = each
		}
		at += n
		if e.Ended {
			ends[at-1] = each
		}
	}
	if err := graphop.RunBack(m.vm, m.params, grad); err != nil {
		return 0, fmt.Errorf("run graph of run times: %w", err)
	}
	return float64(m.cost.Data().(T)), nil
}
