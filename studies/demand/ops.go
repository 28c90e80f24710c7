package demand

import (
	"math"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// gates adds x·w + h·u + b to the graph: the gates of a step before their nonlinearities, [B,4H], for x [B,in], h [B,H], w
// [in,4H], u [H,4H] and b [4H]. The four blocks of columns are those of LSTM. They stay in one matrix because Gorgonia
// treats slices whose bounds agree modulo 256 as identical.
func gates(x, h, w, u, b *G.Node) (*G.Node, error) {
	s := product{in: w.Shape()[0], hidden: u.Shape()[0], out: w.Shape()[1]}
	grad := func(n G.Nodes, _, da *G.Node) (G.Nodes, error) {
		x, h, w, u, b := n[0], n[1], n[2], n[3], n[4]
		grads := make(G.Nodes, len(n))
		for i, g := range []struct {
			kind string
			wrt  *G.Node
			f32  graphop.Body[float32]
			f64  graphop.Body[float64]
			in   G.Nodes
		}{
			{"demand.inputGrad", x, inputGrad[float32](s.in, s.out), inputGrad[float64](s.in, s.out), G.Nodes{da, w}},
			{"demand.inputGrad", h, inputGrad[float32](s.hidden, s.out), inputGrad[float64](s.hidden, s.out), G.Nodes{da, u}},
			{"demand.weightGrad", w, weightGrad[float32](s.in, s.out), weightGrad[float64](s.in, s.out), G.Nodes{da, x}},
			{"demand.weightGrad", u, weightGrad[float32](s.hidden, s.out), weightGrad[float64](s.hidden, s.out), G.Nodes{da, h}},
			{"demand.biasGrad", b, biasGrad[float32], biasGrad[float64], G.Nodes{da}},
		} {
			var err error
			if grads[i], err = graphop.Like(g.kind, nil, g.wrt, g.f32, g.f64, g.in...); err != nil {
				return nil, err
			}
		}
		return grads, nil
	}
	return graphop.Apply("demand.gates", nil, tensor.Shape{x.Shape()[0], s.out}, sums[float32](s), sums[float64](s), grad,
		[]bool{true, true, true, true, true}, x, h, w, u, b)
}

// product contains the widths of gates.
type product struct{ in, hidden, out int }

func sums[T kernel.Float](s product) graphop.Body[T] {
	var recurrent []T
	return func(a []T, n [][]T) {
		if recurrent == nil {
			recurrent = make([]T, len(a))
		}
		kernel.Dense(a, n[0], n[2], n[4], s.in, s.out, kernel.None)
		kernel.Dense(recurrent, n[1], n[3], nil, s.hidden, s.out, kernel.None)
		for i, v := range recurrent {
			a[i] += v
		}
	}
}

func inputGrad[T kernel.Float](in, out int) graphop.Body[T] {
	return func(dx []T, n [][]T) { kernel.DenseBack(dx, nil, nil, n[0], nil, n[1], in, out) }
}

func weightGrad[T kernel.Float](in, out int) graphop.Body[T] {
	return func(dw []T, n [][]T) { kernel.DenseBack(nil, dw, nil, n[0], n[1], nil, in, out) }
}

func biasGrad[T kernel.Float](db []T, n [][]T) { kernel.SumRows(db, n[0]) }

// The blocks of a gate matrix's columns.
const (
	blockI = iota
	blockF
	blockG
	blockO
	blocks
)

// cell adds the next cell state to the graph: σ(f)*c + σ(i)*tanh(g), [B,H], for gates a [B,4H] and the previous state c [B,H].
func cell(a, c *G.Node) (*G.Node, error) {
	width := c.Shape()[1]
	grad := func(n G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		return graphop.Packed("demand.cellGrad", nil, n, cellBack[float32](width), cellBack[float64](width), dy, n[0], n[1])
	}
	return graphop.Apply("demand.cell", nil, c.Shape().Clone(), nextCell[float32](width), nextCell[float64](width), grad,
		[]bool{true, true}, a, c)
}

func nextCell[T kernel.Float](width int) graphop.Body[T] {
	return func(y []T, n [][]T) {
		for r := range len(y) / width {
			a := n[0][r*blocks*width : (r+1)*blocks*width]
			for j := range width {
				i, f, g := kernel.Sigmoid(a[blockI*width+j]), kernel.Sigmoid(a[blockF*width+j]), tanh(a[blockG*width+j])
				y[r*width+j] = f*n[1][r*width+j] + i*g
			}
		}
	}
}

// cellBack computes the gradients of a and c, one after the other, from dy, a and c.
func cellBack[T kernel.Float](width int) graphop.Body[T] {
	return func(out []T, n [][]T) {
		dy, c := n[0], n[2]
		da, dc := out[:len(n[1])], out[len(n[1]):]
		for r := range len(dy) / width {
			a, d := n[1][r*blocks*width:(r+1)*blocks*width], da[r*blocks*width:(r+1)*blocks*width]
			for j := range width {
				k := r*width + j
				i, f, g := kernel.Sigmoid(a[blockI*width+j]), kernel.Sigmoid(a[blockF*width+j]), tanh(a[blockG*width+j])
				d[blockI*width+j] = dy[k] * g * i * (1 - i)
				d[blockF*width+j] = dy[k] * c[k] * f * (1 - f)
				d[blockG*width+j] = dy[k] * i * (1 - g*g)
				d[blockO*width+j] = 0
				dc[k] = dy[k] * f
			}
		}
	}
}

// hidden adds the output of a step to the graph: σ(o)*tanh(c), [B,H], for gates a [B,4H] and the cell state after it, c [B,H].
func hidden(a, c *G.Node) (*G.Node, error) {
	width := c.Shape()[1]
	grad := func(n G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		return graphop.Packed("demand.hiddenGrad", nil, n, hiddenBack[float32](width), hiddenBack[float64](width), dy, n[0], n[1])
	}
	return graphop.Apply("demand.hidden", nil, c.Shape().Clone(), nextHidden[float32](width), nextHidden[float64](width), grad,
		[]bool{true, true}, a, c)
}

func nextHidden[T kernel.Float](width int) graphop.Body[T] {
	return func(y []T, n [][]T) {
		for k := range y {
			y[k] = kernel.Sigmoid(n[0][outputGate(k, width)]) * tanh(n[1][k])
		}
	}
}

// hiddenBack computes the gradients of a and c, one after the other, from dy, a and c.
func hiddenBack[T kernel.Float](width int) graphop.Body[T] {
	return func(out []T, n [][]T) {
		dy, a, c := n[0], n[1], n[2]
		da, dc := out[:len(a)], out[len(a):]
		clear(da)
		for k := range dy {
			at := outputGate(k, width)
			o, t := kernel.Sigmoid(a[at]), tanh(c[k])
			da[at] = dy[k] * t * o * (1 - o)
			dc[k] = dy[k] * o * (1 - t*t)
		}
	}
}

// outputGate returns the index, in the gates [B,4H], of the output gate of element k of a state [B,H].
func outputGate(k, width int) int { return k/width*blocks*width + blockO*width + k%width }

func tanh[T kernel.Float](x T) T { return T(math.Tanh(float64(x))) }
