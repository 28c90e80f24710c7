package run

import (
	"context"
	"fmt"
)

// limits are those of one run.
type limits struct {
	bytes int // of all tensors that exist at a time, without those that the model stores
	work  int // see charge
}

// usual limits a run to about a quarter of a second of one core, and to 128 MiB.
var usual = limits{bytes: 1 << 27, work: 1 << 28}

// What parts of a run cost, in about the nanoseconds that they take at most on a core of 2020. TestWorkIsCharged compares them
// with measurements.
const (
	nodeWork        = 500 // a node
	inputWork       = 100 // one of its inputs
	rowWork         = 20  // a row, along the last dimension, of what is read or made
	elementWork     = 2   // an element that is read
	productWork     = 250 // a product of two matrices
	productsPerWork = 16  // multiplications of such a product
)

// machine is one run of a model.
type machine struct {
	ctx    context.Context
	limits limits
	values []*Tensor
	held   int // bytes of the values
	work   int
}

// charge adds work. It returns an error if the run does too much.
func (m *machine) charge(work int) error {
	if m.work += work; m.work > m.limits.work || work < 0 {
		return fmt.Errorf("the model computes too much: up to here it takes about %d ms of one core, want at most %d ms in a run",
			m.work/1_000_000, m.limits.work/1_000_000)
	}
	return nil
}

// size returns the bytes of an element in memory.
func (t Type) size() int {
	if t == Float {
		return 4
	}
	return 8
}

// bytes returns the bytes of the elements.
func (t *Tensor) bytes() int { return 4*len(t.Floats) + 8*len(t.Ints) }

// rows returns how many rows, along the last dimension, a tensor of n elements has.
func rows(n int, shape []int) int {
	if len(shape) == 0 || n == 0 {
		return 1
	}
	return n / shape[len(shape)-1]
}

// read charges for the inputs of a node.
func (c *call) read() error {
	work := nodeWork
	for _, t := range c.in {
		if work += inputWork; t != nil {
			work += elementWork*t.Len() + rowWork*rows(t.Len(), t.Shape)
		}
	}
	return c.charge(work)
}

// reserve returns an error if the run holds too much with so many more bytes.
func (c *call) reserve(bytes int) error {
	if c.made += bytes; c.held+c.made > c.limits.bytes {
		return fmt.Errorf("the run holds more than %d MiB at a time", c.limits.bytes>>20)
	}
	return nil
}

// make returns a new tensor of zeros. It returns an error if the run would hold or have computed too much.
func (c *call) make(of Type, shape []int) (*Tensor, error) {
	n, err := count(shape)
	if err != nil {
		return nil, err
	}
	if err := c.reserve(n * of.size()); err != nil {
		return nil, fmt.Errorf("result of shape %v: %w", shape, err)
	}
	if err := c.charge(c.price*n + rowWork*rows(n, shape)); err != nil {
		return nil, err
	}
	t := &Tensor{Type: of, Shape: shape}
	if of == Float {
		t.Floats = make([]float32, n)
	} else {
		t.Ints = make([]int64, n)
	}
	return t, nil
}
