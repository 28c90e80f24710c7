package run

import (
	"fmt"
	"slices"
)

// concat returns tensors one after the other along a dimension. All have the same type and the same other dimensions.
func concat(c *call) error {
	parts, like := c.in, c.in[0]
	at, err := c.axis(0, len(like.Shape))
	if err != nil {
		return err
	}
	shape := slices.Clone(like.Shape)
	shape[at] = 0
	for _, t := range parts {
		own := slices.Clone(t.Shape)
		if len(own) == len(shape) {
			own[at] = shape[at]
		}
		if t.Type != like.Type || !slices.Equal(own, shape) {
			return fmt.Errorf("%v beside %v along axis %d", t, like, at)
		}
		if shape[at] += t.Shape[at]; shape[at] > maxElements {
			return fmt.Errorf("more than %d elements along axis %d", maxElements, at)
		}
	}
	out, err := c.make(like.Type, shape)
	if err != nil {
		return err
	}
	if like.Type == Float {
		lay(out.Floats, shape, at, parts, func(t *Tensor) []float32 { return t.Floats })
	} else {
		lay(out.Ints, shape, at, parts, func(t *Tensor) []int64 { return t.Ints })
	}
	return c.give(out, nil)
}

// lay copies the elements of parts side by side along a dimension.
func lay[T any](out []T, shape []int, at int, parts []*Tensor, elements func(*Tensor) []T) {
	inner, _ := count(shape[at+1:])
	width, first := shape[at]*inner, 0
	for _, t := range parts {
		x, own := elements(t), t.Shape[at]*inner
		for row := 0; own > 0 && row < len(x)/own; row++ {
			copy(out[row*width+first:], x[row*own:(row+1)*own])
		}
		first += own
	}
}

func split(c *call) error {
	t := c.in[0]
	at, err := c.axis(0, len(t.Shape))
	if err != nil {
		return err
	}
	n := len(c.node.out)
	sizes, found := c.list(1, "split")
	if !found {
		if n == 0 {
			return nil
		}
		size := (t.Shape[at] + n - 1) / n
		for i := range n {
			sizes = append(sizes, int64(min(size, max(t.Shape[at]-i*size, 0))))
		}
	}
	if len(sizes) != n {
		return fmt.Errorf("%d parts for %d outputs", len(sizes), n)
	}
	s, first := strides(t.Shape), 0
	for _, size := range sizes {
		if size < 0 || size > int64(t.Shape[at]-first) {
			return fmt.Errorf("parts %v of %v along axis %d", sizes, t, at)
		}
		shape := slices.Clone(t.Shape)
		shape[at] = int(size)
		out, err := c.make(t.Type, shape)
		if err != nil {
			return err
		}
		c.copy(out, t, s, first*s[at])
		c.out = append(c.out, out)
		first += int(size)
	}
	return nil
}

func slice(c *call) error {
	t := c.in[0]
	rank := len(t.Shape)
	from, to := c.in[1].Ints, c.in[2].Ints
	axes, given := c.list(3, "axes")
	if !given {
		for i := range min(len(from), rank) {
			axes = append(axes, int64(i))
		}
	}
	steps, stepped := c.list(4, "steps")
	if len(to) != len(from) || len(axes) != len(from) || len(from) > rank || stepped && len(steps) != len(from) {
		return fmt.Errorf("%d starts, %d ends, %d axes and %d steps for %v", len(from), len(to), len(axes), len(steps), t)
	}
	shape, s, first := slices.Clone(t.Shape), strides(t.Shape), 0
	cut := make([]bool, rank)
	for k, x := range axes {
		i, err := axis(x, rank)
		if err != nil {
			return err
		}
		if cut[i] {
			return fmt.Errorf("axes %v list a dimension twice", axes)
		}
		cut[i] = true
		step := int64(1)
		if stepped {
			step = steps[k]
		}
		start, n, err := cutOut(int64(t.Shape[i]), from[k], to[k], step)
		if err != nil {
			return err
		}
		first += start * s[i]
		if shape[i] = n; n > 1 {
			s[i] *= int(step)
		}
	}
	out, err := c.make(t.Type, shape)
	if err != nil {
		return err
	}
	c.copy(out, t, s, first)
	return c.give(out, nil)
}

// cutOut returns the first of n elements of a dimension of the given size that a slice takes.
func cutOut(size, from, to, step int64) (first, n int, err error) {
	if step < 1 {
		return 0, 0, fmt.Errorf("a slice with step %d, want 1 or more", step)
	}
	bound := func(x int64) int64 {
		if x < 0 {
			x += size
		}
		return min(max(x, 0), size)
	}
	if from, to = bound(from), bound(to); to <= from {
		return 0, 0, nil
	}
	return int(from), int((to-from-1)/step + 1), nil
}

// places returns the indices of a tensor as places along a dimension of the given size.
func (c *call) places(indices *Tensor, size int) ([]int, error) {
	if err := c.reserve(indices.bytes()); err != nil {
		return nil, err
	}
	at := make([]int, indices.Len())
	for k, x := range indices.Ints {
		i, err := axis(x, size)
		if err != nil {
			return nil, fmt.Errorf("index %d of %d elements", x, size)
		}
		at[k] = i
	}
	return at, nil
}

func gather(c *call) error {
	t, indices := c.in[0], c.in[1]
	at, err := c.axis(0, len(t.Shape))
	if err != nil {
		return err
	}
	from, err := c.places(indices, t.Shape[at])
	if err != nil {
		return err
	}
	out, err := c.make(t.Type, slices.Concat(t.Shape[:at], indices.Shape, t.Shape[at+1:]))
	if err != nil {
		return err
	}
	inner, _ := count(t.Shape[at+1:])
	if t.Type == Float {
		collect(out.Floats, t.Floats, from, t.Shape[at], inner)
	} else {
		collect(out.Ints, t.Ints, from, t.Shape[at], inner)
	}
	return c.give(out, nil)
}

// collect copies from each block of x, which has size pieces of inner elements, the pieces at the given places.
func collect[T any](out, x []T, from []int, size, inner int) {
	for at, first := 0, 0; at < len(out); first += size * inner {
		for _, i := range from {
			copy(out[at:at+inner], x[first+i*inner:])
			at += inner
		}
	}
}

func gatherElements(c *call) error {
	t, indices := c.in[0], c.in[1]
	at, err := c.axis(0, len(t.Shape))
	if err != nil {
		return err
	}
	for i := range t.Shape {
		if len(indices.Shape) != len(t.Shape) || i != at && indices.Shape[i] > t.Shape[i] {
			return fmt.Errorf("indices %v of %v along axis %d", indices, t, at)
		}
	}
	from, err := c.places(indices, t.Shape[at])
	if err != nil {
		return err
	}
	out, err := c.make(t.Type, indices.Shape)
	if err != nil {
		return err
	}
	s := strides(t.Shape)
	own := s[at]
	s[at] = 0
	d := last(s)
	walk(indices.Shape, s, s, func(k, i, _, n int) {
		for j := range n {
			x := i + j*d + from[k+j]*own
			if t.Type == Float {
				out.Floats[k+j] = t.Floats[x]
			} else {
				out.Ints[k+j] = t.Ints[x]
			}
		}
	})
	return c.give(out, nil)
}

// triangle keeps the elements of the last two dimensions on one side of a diagonal; the others become 0.
func triangle(c *call) error {
	t := c.in[0]
	rank := len(t.Shape)
	shift := int64(0)
	if k := c.input(1); k != nil && k.Len() == 1 {
		shift = k.Ints[0]
	} else if k != nil {
		return fmt.Errorf("diagonal %v, want one number", k)
	}
	if rank < 2 {
		return fmt.Errorf("%v, want 2 dimensions or more", t)
	}
	out, err := c.make(t.Type, t.Shape)
	if err != nil {
		return err
	}
	rows, columns := t.Shape[rank-2], t.Shape[rank-1]
	upper := c.int("upper", 1) != 0
	for i := range t.Len() {
		// A shift beyond the matrix does as much as one to its edge.
		over := int64(i%columns) - int64(i/columns%rows) - min(max(shift, -maxElements), maxElements)
		switch {
		case upper && over < 0 || !upper && over > 0:
		case t.Type == Float:
			out.Floats[i] = t.Floats[i]
		default:
			out.Ints[i] = t.Ints[i]
		}
	}
	return c.give(out, nil)
}
