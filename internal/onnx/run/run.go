package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Run computes the model on inputs by name and returns its outputs. The inputs must have the model's types and shapes. The caller
// owns the inputs; it must not change the elements of an output. After ctx ends, Run breaks off with its error.
func (m *Model) Run(ctx context.Context, inputs map[string]*Tensor) (map[string]*Tensor, error) {
	return m.run(ctx, inputs, usual)
}

func (m *Model) run(ctx context.Context, inputs map[string]*Tensor, most limits) (map[string]*Tensor, error) {
	r := machine{ctx: ctx, limits: most, values: slices.Clone(m.weights)}
	for i := range m.Inputs {
		v := &m.Inputs[i]
		t := inputs[v.Name]
		if err := v.takes(t); err != nil {
			return nil, fmt.Errorf("run ONNX model: input %.100q: %w", v.Name, err)
		}
		r.values[m.names[v.Name]] = t
		r.held += t.bytes()
	}
	for k := range m.nodes {
		if err := r.step(&m.nodes[k]); err != nil {
			return nil, fmt.Errorf("run ONNX model: %v: %w", &m.nodes[k], err)
		}
		for _, i := range m.ends[k] {
			if t := r.values[i]; t != nil {
				r.held -= t.bytes()
				r.values[i] = nil
			}
		}
	}
	out := make(map[string]*Tensor, len(m.Outputs))
	for _, v := range m.Outputs {
		if out[v.Name] = r.values[m.names[v.Name]]; out[v.Name] == nil {
			return nil, fmt.Errorf("run ONNX model: nothing computed the output %.100q", v.Name)
		}
	}
	return out, nil
}

// takes returns an error unless the tensor has the type and the dimensions of the input.
func (v *Value) takes(t *Tensor) error {
	if t == nil {
		return errors.New("is missing")
	}
	n, err := count(t.Shape)
	if err != nil {
		return err
	}
	if t.Type != v.Type || t.Len() != n {
		return fmt.Errorf("%v with %d elements, want %v", t, t.Len(), v.Type)
	}
	if v.Dims == nil {
		return nil
	}
	fits := len(t.Shape) == len(v.Dims)
	for i := 0; fits && i < len(v.Dims); i++ {
		fits = v.Dims[i].Size < 0 || v.Dims[i].Size == t.Shape[i]
	}
	if !fits {
		return fmt.Errorf("shape %v, want %v", t.Shape, v.Dims)
	}
	return nil
}

// step computes a node.
func (m *machine) step(n *node) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	op := operators[n.operator]
	c := call{machine: m, node: n, price: op.work, in: make([]*Tensor, len(n.in))}
	for k, i := range n.in {
		if i < 0 {
			continue
		}
		if c.in[k] = m.values[i]; c.in[k] == nil {
			return fmt.Errorf("input %d was never computed", k)
		}
		if err := op.takes(k, c.in[k]); err != nil {
			return err
		}
	}
	if err := c.read(); err != nil {
		return err
	}
	if err := op.compute(&c); err != nil {
		return err
	}
	if len(n.out) > len(c.out) {
		return fmt.Errorf("%d outputs, want %d", len(n.out), len(c.out))
	}
	for k, i := range n.out {
		if i >= 0 {
			m.values[i] = c.out[k]
			m.held += c.out[k].bytes()
		}
	}
	return nil
}

// call is one computation of a node.
type call struct {
	*machine
	node  *node
	price int       // see operator.work
	in    []*Tensor // nil for an input that is left out
	out   []*Tensor
	made  int // bytes of what the call has made
}

// input returns an input, nil if it is left out.
func (c *call) input(k int) *Tensor {
	if k < len(c.in) {
		return c.in[k]
	}
	return nil
}

// give adds an output.
func (c *call) give(t *Tensor, err error) error {
	if err == nil {
		c.out = append(c.out, t)
	}
	return err
}

// int returns an attribute that is an integer.
func (c *call) int(name string, otherwise int64) int64 {
	if a, ok := c.node.attributes[name]; ok {
		return a.i
	}
	return otherwise
}

// float returns an attribute that is a float.
func (c *call) float(name string, otherwise float32) float32 {
	if a, ok := c.node.attributes[name]; ok {
		return a.f
	}
	return otherwise
}

// list returns a list of integers that is input k or, in older operator sets, an attribute; found is false if there is neither.
func (c *call) list(k int, name string) (xs []int64, found bool) {
	if t := c.input(k); t != nil {
		return t.Ints, true
	}
	a, ok := c.node.attributes[name]
	return a.ints, ok
}

// axis returns the attribute axis as a dimension of a tensor of the given rank.
func (c *call) axis(otherwise int64, rank int) (int, error) {
	return axis(c.int("axis", otherwise), rank)
}
