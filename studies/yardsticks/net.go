package yardsticks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/train/adam"
)

// net maps each row to a score: two hidden layers of rectified units and a linear output. All agents share its weights.
type net struct {
	width  int
	layers []layer
	hidden [2][]float32 // scratch of score
}

// layer is a dense layer.
type layer struct {
	in, out int
	act     kernel.Activation
	w, b    []float32 // [in,out], [out]
}

// shape returns the layers of a net for rows of a width, without weights.
func shape(width int) []layer {
	const units = 64
	return []layer{
		{in: width, out: units, act: kernel.ReLU}, {in: units, out: units, act: kernel.ReLU}, {in: units, out: 1},
	}
}

// newNet draws the weights so that the scale of signals is kept from layer to layer (He et al., ICCV 2015). The parameter last is
// a factor on those of the output.
func newNet(width int, last float64, draw *rand.Rand) *net {
	n := &net{width: width, layers: shape(width)}
	for k := range n.layers {
		l := &n.layers[k]
		l.w, l.b = make([]float32, l.in*l.out), make([]float32, l.out)
		scale := kernel.He(l.in)
		if l.act == kernel.None {
			scale = last / math.Sqrt(float64(l.in))
		}
		kernel.Draw(l.w, scale, draw)
	}
	return n
}

// clone returns a copy with weights of its own.
func (n *net) clone() *net {
	c := &net{width: n.width, layers: slices.Clone(n.layers)}
	for k := range c.layers {
		c.layers[k].w, c.layers[k].b = slices.Clone(c.layers[k].w), slices.Clone(c.layers[k].b)
	}
	return c
}

// score appends the score of each row to dst.
func (n *net) score(dst, rows []float32) []float32 {
	count := kernel.RowsOf("rows", rows, n.width)
	x := rows
	for k, l := range n.layers[:2] {
		n.hidden[k] = slices.Grow(n.hidden[k][:0], count*l.out)[:count*l.out]
		kernel.Dense(n.hidden[k], x, l.w, l.b, l.in, l.out, l.act)
		x = n.hidden[k]
	}
	at, l := len(dst), n.layers[2]
	dst = slices.Grow(dst, count)[:at+count]
	kernel.Dense(dst[at:], x, l.w, l.b, l.in, l.out, l.act)
	return dst
}

// params returns the weights in a fixed order. They share memory with the net.
func (n *net) params() []checkpoints.Tensor {
	var all []checkpoints.Tensor
	for k, l := range n.layers {
		all = append(all,
			checkpoints.Tensor{Name: fmt.Sprintf("layer%d.w", k), Shape: []int{l.in, l.out}, Data: l.w},
			checkpoints.Tensor{Name: fmt.Sprintf("layer%d.b", k), Shape: []int{l.out}, Data: l.b})
	}
	return all
}

// netFrom returns the net whose params are tensors.
func netFrom(width int, tensors []checkpoints.Tensor) (*net, error) {
	n := &net{width: width, layers: shape(width)}
	for k := range n.layers {
		l := &n.layers[k]
		var err error
		if l.w, err = checkpoints.Get[float32](tensors, fmt.Sprintf("layer%d.w", k), l.in, l.out); err != nil {
			return nil, err
		}
		if l.b, err = checkpoints.Get[float32](tensors, fmt.Sprintf("layer%d.b", k), l.out); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// size returns how many weights there are.
func (n *net) size() int {
	total := 0
	for _, l := range n.layers {
		total += len(l.w) + len(l.b)
	}
	return total
}

// maxNorm is the largest norm of a gradient; larger gradients are scaled down.
const maxNorm = 0.5

// trained is a net with its optimiser.
type trained struct {
	*net
	adam    adam.State
	machine *machine[float32]
	grad    []float32
}

// newTrained prepares a net for training. The parameter rows is about how many rows a step of descend gets.
func newTrained(n *net, rows int) (*trained, error) {
	m, err := newMachine[float32](n.width, rows)
	if err != nil {
		return nil, err
	}
	return &trained{net: n, adam: adam.New(n.size()), machine: m, grad: make([]float32, n.size())}, nil
}

// descend makes one step of Adam against the gradient of a loss. slopes are the derivatives of the loss with respect to the
// scores of the rows.
func (t *trained) descend(rows, slopes []float32, rate float64) error {
	clear(t.grad)
	for len(slopes) > 0 {
		n := min(len(slopes), t.machine.rows)
		if err := t.machine.add(t.grad, t.net, rows[:n*t.width], slopes[:n]); err != nil {
			return err
		}
		rows, slopes = rows[n*t.width:], slopes[n:]
	}
	square := 0.0
	for _, g := range t.grad {
		square += float64(g) * float64(g)
	}
	if math.IsNaN(square) || math.IsInf(square, 0) {
		return fmt.Errorf("the squared norm of a gradient is %v, want a finite number: try a lower rate", square)
	}
	scale := min(1, maxNorm/(math.Sqrt(square)+1e-12))
	t.adam.Next()
	at := 0
	for _, p := range t.params() {
		data := p.Data.([]float32)
		t.adam.Step(data, t.grad[at:at+len(data)], at, scale, rate, 0)
		at += len(data)
	}
	return nil
}

func (t *trained) close() error { return t.machine.vm.Close() }
