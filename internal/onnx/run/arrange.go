package run

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ints64 returns a list of integers as a tensor.
func ints64(xs ...int) *Tensor {
	t := &Tensor{Type: Int64, Shape: []int{len(xs)}, Ints: make([]int64, len(xs))}
	for i, x := range xs {
		t.Ints[i] = int64(x)
	}
	return t
}

func constant(c *call) error {
	for name, a := range c.node.attributes {
		switch {
		case name == "value" && a.t != nil:
			return c.give(a.t, nil)
		case name == "value_float":
			return c.give(&Tensor{Type: Float, Floats: []float32{a.f}}, nil)
		case name == "value_int":
			return c.give(&Tensor{Type: Int64, Ints: []int64{a.i}}, nil)
		case name == "value_floats":
			return c.give(&Tensor{Type: Float, Shape: []int{len(a.floats)}, Floats: a.floats}, nil)
		case name == "value_ints":
			return c.give(&Tensor{Type: Int64, Shape: []int{len(a.ints)}, Ints: a.ints}, nil)
		}
	}
	return errors.New("no value of numbers")
}

// dims returns the elements of a tensor of integers as dimensions.
func dims(t *Tensor) ([]int, error) {
	if len(t.Shape) > 1 || t.Len() > maxRank {
		return nil, fmt.Errorf("a list %v of dimensions, want at most %d", t, maxRank)
	}
	list := make([]int, t.Len())
	for i, x := range t.Ints {
		if list[i] = int(x); x < -1 || x > maxElements {
			return nil, fmt.Errorf("dimension %d, want -1 to %d", x, maxElements)
		}
	}
	return list, nil
}

func constantOfShape(c *call) error {
	shape, err := dims(c.in[0])
	if err != nil {
		return err
	}
	value := &Tensor{Type: Float, Floats: []float32{0}}
	if a := c.node.attributes["value"]; a.t != nil {
		value = a.t
	}
	if value.Len() != 1 {
		return fmt.Errorf("value %v, want one number", value)
	}
	return c.give(c.spread(value.view(nil), shape))
}

// spread returns a tensor that is broadcast to a shape.
func (c *call) spread(t *Tensor, shape []int) (*Tensor, error) {
	out, err := c.make(t.Type, shape)
	if err != nil {
		return nil, err
	}
	c.copy(out, t, reach(t.Shape, shape), 0)
	return out, nil
}

// copy sets out to the elements of t that have the given strides, from the one at first on.
func (c *call) copy(out, t *Tensor, s []int, first int) {
	if t.Type == Float {
		pick(out.Floats, out.Shape, t.Floats, s, first)
	} else {
		pick(out.Ints, out.Shape, t.Ints, s, first)
	}
}

func pick[T any](out []T, shape []int, x []T, s []int, first int) {
	d := last(s)
	walk(shape, s, s, func(at, i, _, n int) {
		for k := range n {
			out[at+k] = x[first+i+k*d]
		}
	})
}

func numbers(c *call) error {
	from, to, by := c.in[0], c.in[1], c.in[2]
	if from.Type != to.Type || from.Type != by.Type || from.Len() != 1 || to.Len() != 1 || by.Len() != 1 {
		return fmt.Errorf("numbers from %v to %v by %v, want one number of the same type each", from, to, by)
	}
	n := 0.0
	if from.Type == Float {
		n = (float64(to.Floats[0]) - float64(from.Floats[0])) / float64(by.Floats[0])
	} else {
		n = (float64(to.Ints[0]) - float64(from.Ints[0])) / float64(by.Ints[0])
	}
	if !(n <= maxElements) {
		return fmt.Errorf("%v numbers, want at most %d", n, maxElements)
	}
	size := int(math.Ceil(max(n, 0)))
	out, err := c.make(from.Type, []int{size})
	if err != nil {
		return err
	}
	for i := range size {
		if from.Type == Float {
			out.Floats[i] = from.Floats[0] + float32(i)*by.Floats[0]
		} else {
			out.Ints[i] = from.Type.wrap(from.Ints[0] + int64(i)*by.Ints[0])
		}
	}
	return c.give(out, nil)
}

func shapeOf(c *call) error {
	rank := int64(len(c.in[0].Shape))
	bound := func(i int64) int64 {
		if i < 0 {
			i += rank
		}
		return min(max(i, 0), rank)
	}
	from, to := bound(c.int("start", 0)), bound(c.int("end", rank))
	return c.give(ints64(c.in[0].Shape[from:max(from, to)]...), nil)
}

func reshape(c *call) error {
	t := c.in[0]
	shape, err := dims(c.in[1])
	if err != nil {
		return err
	}
	open, known := -1, 1
	for i, d := range shape {
		switch {
		case d == 0 && c.int("allowzero", 0) == 0:
			if i >= len(t.Shape) {
				return fmt.Errorf("shape %v has 0 at %d, where %v has nothing", shape, i, t)
			}
			shape[i] = t.Shape[i]
		case d == -1 && open >= 0:
			return fmt.Errorf("shape %v has -1 twice", shape)
		case d == -1:
			open = i
			continue
		}
		if shape[i] != 0 && known > maxElements/shape[i] {
			return fmt.Errorf("shape %v is too large", shape)
		}
		known *= shape[i]
	}
	if open >= 0 && known > 0 {
		shape[open] = t.Len() / known
		known *= shape[open]
	}
	if open >= 0 && shape[open] < 0 || known != t.Len() {
		return fmt.Errorf("%v in the shape %v", t, shape)
	}
	return c.give(t.view(shape), nil)
}

func flatten(c *call) error {
	t := c.in[0]
	at := int(c.int("axis", 1))
	if at < 0 {
		at += len(t.Shape)
	}
	if at < 0 || at > len(t.Shape) {
		return fmt.Errorf("axis %d of %v", c.int("axis", 1), t)
	}
	rows, _ := count(t.Shape[:at]) // no more than the tensor has
	columns, _ := count(t.Shape[at:])
	return c.give(t.view([]int{rows, columns}), nil)
}

// axesOf returns which of rank dimensions are listed as input k or as the attribute axes.
func (c *call) axesOf(k, rank int) (chosen []bool, found bool, err error) {
	list, found := c.list(k, "axes")
	if chosen = make([]bool, rank); len(list) > rank {
		return nil, true, fmt.Errorf("axes %v of %d dimensions", list[:min(len(list), maxRank)], rank)
	}
	for _, x := range list {
		i, err := axis(x, rank)
		if err != nil {
			return nil, true, err
		}
		if chosen[i] {
			return nil, true, fmt.Errorf("axes %v list a dimension twice", list)
		}
		chosen[i] = true
	}
	return chosen, found, nil
}

func squeeze(c *call) error {
	t := c.in[0]
	drop, found, err := c.axesOf(1, len(t.Shape))
	if err != nil {
		return err
	}
	shape := []int{}
	for i, d := range t.Shape {
		switch {
		case found && drop[i] && d != 1:
			return fmt.Errorf("dimension %d of %v, want 1 to drop it", i, t)
		case found && drop[i] || !found && d == 1:
		default:
			shape = append(shape, d)
		}
	}
	return c.give(t.view(shape), nil)
}

func unsqueeze(c *call) error {
	t := c.in[0]
	list, _ := c.list(1, "axes")
	if len(t.Shape)+len(list) > maxRank {
		return fmt.Errorf("%d more dimensions for %v, want at most %d", len(list), t, maxRank)
	}
	added, _, err := c.axesOf(1, len(t.Shape)+len(list))
	if err != nil {
		return err
	}
	left := t.Shape
	shape := make([]int, len(added))
	for i := range shape {
		if shape[i] = 1; !added[i] {
			shape[i], left = left[0], left[1:]
		}
	}
	return c.give(t.view(shape), nil)
}

func transpose(c *call) error {
	t := c.in[0]
	rank := len(t.Shape)
	perm, ok := c.list(1, "perm")
	if !ok {
		for i := rank - 1; i >= 0; i-- {
			perm = append(perm, int64(i))
		}
	}
	known := make([]int64, rank)
	for i := range known {
		known[i] = int64(i)
	}
	if !slices.Equal(slices.Sorted(slices.Values(perm)), known) {
		return fmt.Errorf("permutation %v of %v", perm[:min(len(perm), maxRank)], t)
	}
	from, shape, s := strides(t.Shape), make([]int, rank), make([]int, rank)
	for i, p := range perm {
		shape[i], s[i] = t.Shape[p], from[p]
	}
	out, err := c.make(t.Type, shape)
	if err != nil {
		return err
	}
	c.copy(out, t, s, 0)
	return c.give(out, nil)
}

func expand(c *call) error {
	shape, err := dims(c.in[1])
	if err == nil {
		shape, err = broadcast(c.in[0].Shape, shape)
	}
	if err != nil {
		return err
	}
	return c.give(c.spread(c.in[0], shape))
}

func tile(c *call) error {
	t := c.in[0]
	times, err := dims(c.in[1])
	if err != nil || len(times) != len(t.Shape) || 2*len(times) > maxRank {
		return fmt.Errorf("%v repeated as %v says, want one number for each of at most %d dimensions", t, c.in[1], maxRank/2)
	}
	// A dimension n times is a dimension of n before it along which nothing changes.
	var from, to, shape []int
	for i, n := range times {
		from, to, shape = append(from, 1, t.Shape[i]), append(to, n, t.Shape[i]), append(shape, n*t.Shape[i])
	}
	out, err := c.spread(t.view(from), to)
	if err != nil {
		return err
	}
	return c.give(out.view(shape), nil)
}
