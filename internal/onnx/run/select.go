package run

import (
	"fmt"
	"math"
)

func where(c *call) error {
	if err := same(c.in[1], c.in[2]); err != nil {
		return err
	}
	shape, err := broadcast(c.in[1].Shape, c.in[2].Shape)
	if err == nil {
		shape, err = broadcast(c.in[0].Shape, shape)
	}
	if err != nil {
		return err
	}
	out, err := c.make(c.in[1].Type, shape)
	if err != nil {
		return err
	}
	if out.Type == Float {
		choose(out.Floats, shape, c.in, c.in[1].Floats, c.in[2].Floats)
	} else {
		choose(out.Ints, shape, c.in, c.in[1].Ints, c.in[2].Ints)
	}
	return c.give(out, nil)
}

// choose sets out to the elements of x where in[0] is true and to those of y elsewhere. in[1] and in[2] have their shapes.
func choose[T any](out []T, shape []int, in []*Tensor, x, y []T) {
	sb, sx, sy := reach(in[0].Shape, shape), reach(in[1].Shape, shape), reach(in[2].Shape, shape)
	db, dx, dy := last(sb), last(sx), last(sy)
	walk(shape, sy, sy, func(at, j, _, n int) {
		for k := range n {
			out[at+k] = y[j+k*dy]
		}
	})
	walk(shape, sb, sx, func(at, i, j, n int) {
		for k := range n {
			if in[0].Ints[i+k*db] != 0 {
				out[at+k] = x[j+k*dx]
			}
		}
	})
}

// cast returns a tensor with elements of another type. A float loses its fraction; one outside the range of int64 becomes the
// nearest number in it, and NaN becomes 0.
func (c *call) cast(t *Tensor, to Type) (*Tensor, error) {
	if !to.supported() {
		return nil, fmt.Errorf("elements of %v, want float32, integers or bool", to)
	}
	if t.Type == to {
		return t, nil
	}
	out, err := c.make(to, t.Shape)
	if err != nil {
		return nil, err
	}
	for i := range t.Len() {
		switch {
		case to == Float:
			out.Floats[i] = float32(t.Ints[i])
		case to == Bool && t.Type == Float:
			out.Ints[i] = bit(t.Floats[i] != 0)
		case to == Bool:
			out.Ints[i] = bit(t.Ints[i] != 0)
		case t.Type == Float:
			out.Ints[i] = to.wrap(whole(t.Floats[i]))
		default:
			out.Ints[i] = to.wrap(t.Ints[i])
		}
	}
	return out, nil
}

// whole returns the integer nearest to x towards 0.
func whole(x float32) int64 {
	switch {
	case x != x:
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}

func cast(c *call) error { return c.give(c.cast(c.in[0], Type(c.int("to", 0)))) } //nolint:gosec // see parseTensor

func castLike(c *call) error { return c.give(c.cast(c.in[0], c.in[1].Type)) }

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
