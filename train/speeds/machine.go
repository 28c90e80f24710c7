package speeds

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/attention/graph"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// machine computes the gradient of the loss for batches of up to a number of examples; smaller ones are padded. T is float32 for
// training and float64 for gradient checks.
type machine[T kernel.Float] struct {
	rows, hidden                   int
	context, points, known         *G.Node
	shift, share, miss, sd, weight *G.Node
	params                         []*G.Node // weights and biases of the layers in turn
	cost                           G.Value
	vm                             G.VM
}

// newMachine builds and compiles the graph. Only one call may run at a time.
func newMachine[T kernel.Float](rows, hidden int) (m *machine[T], err error) {
	defer func() {
		// Gorgonia panics on some mistakes in building; return an error for them.
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("build graph of speeds: %v", r)
		}
	}()
	const most = belief.SpeedPoints
	g := G.NewGraph()
	m = &machine[T]{
		rows: rows, hidden: hidden, context: graphop.Input[T](g, "context", rows, belief.SpeedContext),
		points: graphop.Input[T](g, "points", rows*most, belief.SpeedPoint), known: graphop.Input[T](g, "known", rows*most, hidden),
		shift: graphop.Input[T](g, "shift", rows, belief.SpeedAnswer), share: graphop.Input[T](g, "share", rows, belief.SpeedAnswer),
		miss: graphop.Input[T](g, "miss", rows), sd: graphop.Input[T](g, "sd", rows), weight: graphop.Input[T](g, "weight", rows),
	}
	for i := range belief.SpeedLayers {
		in, out := belief.SpeedShape(i, hidden)
		w, b := graphop.Input[T](g, fmt.Sprintf("w%d", i), in, out), graphop.Input[T](g, fmt.Sprintf("b%d", i), out)
		m.params = append(m.params, w, b)
	}
	layer := func(x *G.Node, i int, act graph.Activation) *G.Node {
		return G.Must(graph.Dense(x, m.params[2*i], m.params[2*i+1], act))
	}
	h := layer(layer(m.points, 0, graph.ReLU), 1, graph.ReLU)
	h = G.Must(G.Reshape(G.Must(G.HadamardProd(h, m.known)), tensor.Shape{rows, most, hidden}))
	h = G.Must(G.Concat(1, m.context, G.Must(G.Sum(h, 1))))
	z := layer(layer(layer(h, 2, graph.ReLU), 3, graph.ReLU), 4, graph.None)
	shift := G.Must(G.Sum(G.Must(G.HadamardProd(z, m.shift)), 1))
	widen := G.Must(G.Sum(G.Must(G.HadamardProd(z, m.share)), 1))
	number := func(v float64) *G.Node { return G.NewConstant(T(v)) }
	off := G.Must(G.Sub(m.miss, shift))
	r := G.Must(G.HadamardProd(off, G.Must(G.Exp(G.Must(G.Neg(widen))))))
	square := G.Must(G.Mul(G.Must(G.Square(r)), number(ratio*ratio/freedom)))
	loss := G.Must(G.Add(widen, G.Must(G.Mul(G.Must(G.Log1p(square)), number((freedom+1)/2)))))
	far := G.Must(G.Mul(G.Must(G.Square(G.Must(G.HadamardProd(off, m.sd)))), number(squares)))
	loss = G.Must(G.Add(loss, far))
	cost := G.Must(G.Sum(G.Must(G.HadamardProd(loss, m.weight))))
	G.Read(cost, &m.cost)
	if _, err := G.Grad(cost, m.params...); err != nil {
		return nil, fmt.Errorf("build gradients of speeds: %w", err)
	}
	m.vm = G.NewTapeMachine(g, G.BindDualValues(m.params...))
	return m, nil
}

func (m *machine[T]) close() {
	_ = m.vm.Close() // a machine contains nothing to lose
}

// run computes the mean loss of a batch of at most m.rows examples, whose inputs are normalised, and writes its gradient by the
// weights, in the order of the parts of the member.
func (m *machine[T]) run(member *belief.SpeedMember, batch []*Example, grad []T) (float64, error) {
	if len(batch) > m.rows {
		return 0, fmt.Errorf("run a batch of %d examples, want at most %d", len(batch), m.rows)
	}
	for i, part := range member.Parts() {
		graphop.Convert(graphop.Values[T](m.params[i]), part)
	}
	const points = belief.SpeedPoints * belief.SpeedPoint
	context, p, known := graphop.Values[T](m.context), graphop.Values[T](m.points), graphop.Values[T](m.known)
	shift, share := graphop.Values[T](m.shift), graphop.Values[T](m.share)
	miss, sd, weight := graphop.Values[T](m.miss), graphop.Values[T](m.sd), graphop.Values[T](m.weight)
	clear(known)
	clear(weight) // of rows that no example fills
	for i, e := range batch {
		graphop.Convert(context[i*belief.SpeedContext:], e.Context)
		graphop.Convert(p[i*points:], e.Points)
		at := i * belief.SpeedPoints * m.hidden
		for k := range len(e.Points) / belief.SpeedPoint * m.hidden {
			known[at+k] = 1
		}
		graphop.Convert(shift[i*belief.SpeedAnswer:], e.Shift[:]) // of the first numbers of an answer; the other factors stay 0
		graphop.Convert(share[i*belief.SpeedAnswer+belief.SpeedShifts:], e.Share[:])
		miss[i], sd[i], weight[i] = T(e.Miss), T(e.SD), T(1)/T(len(batch))
	}
	if err := graphop.RunBack(m.vm, m.params, grad); err != nil {
		return 0, fmt.Errorf("run graph of speeds: %w", err)
	}
	return float64(m.cost.Data().(T)), nil
}
