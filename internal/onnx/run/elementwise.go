package run

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// broadcast returns the shape of an elementwise result of two tensors.
func broadcast(a, b []int) ([]int, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	shape := slices.Clone(a)
	for i, d := range b {
		switch at := len(a) - len(b) + i; {
		case shape[at] == 1:
			shape[at] = d
		case d != 1 && d != shape[at]:
			return nil, fmt.Errorf("shapes %v and %v do not go together", a, b)
		}
	}
	return shape, nil
}

// within returns an error unless a tensor can be broadcast to a shape without making it larger.
func within(t *Tensor, shape []int) error {
	if all, err := broadcast(t.Shape, shape); err != nil || !slices.Equal(all, shape) {
		return fmt.Errorf("%v for the shape %v", t, shape)
	}
	return nil
}

// reach returns, for each dimension of a shape, how far apart neighbours are in a tensor of shape own that is broadcast to it.
func reach(own, shape []int) []int {
	s := strides(own)
	to := make([]int, len(shape))
	for i := range to {
		if k := i - (len(shape) - len(own)); k >= 0 && own[k] > 1 {
			to[i] = s[k]
		}
	}
	return to
}

// walk calls visit for every row, along the last dimension, of a tensor of the given shape. A row has n elements, of which
// the first has the index at. In tensors with the strides a and b, the elements for it have the indices x and y.
func walk(shape, a, b []int, visit func(at, x, y, n int)) {
	total, n := 1, 1
	for _, d := range shape {
		total *= d
	}
	if total == 0 {
		return
	}
	outer := max(len(shape)-1, 0)
	if len(shape) > 0 {
		n = shape[outer]
	}
	var index [maxRank]int
	x, y := 0, 0
	for at := 0; ; {
		visit(at, x, y, n)
		if at += n; at >= total {
			return
		}
		for i := outer - 1; i >= 0; i-- {
			index[i]++
			x, y = x+a[i], y+b[i]
			if index[i] < shape[i] {
				break
			}
			x, y = x-a[i]*index[i], y-b[i]*index[i]
			index[i] = 0
		}
	}
}

// last returns the stride along the last dimension.
func last(s []int) int {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1]
}

// zip sets out, of the given shape, to f of the elements of x and y, which have the shapes a and b.
func zip[T, U any](out []U, shape []int, x []T, a []int, y []T, b []int, f func(T, T) U) {
	sa, sb := reach(a, shape), reach(b, shape)
	da, db := last(sa), last(sb)
	walk(shape, sa, sb, func(at, i, j, n int) {
		for k := range n {
			out[at+k] = f(x[i+k*da], y[j+k*db])
		}
	})
}

// pair returns a new tensor for an elementwise result of two tensors of the same type.
func (c *call) pair(a, b *Tensor, of Type) (*Tensor, error) {
	if a.Type != b.Type {
		return nil, fmt.Errorf("inputs %v and %v, want the same type", a, b)
	}
	shape, err := broadcast(a.Shape, b.Shape)
	if err != nil {
		return nil, err
	}
	return c.make(of, shape)
}

// combine returns f of two tensors of the same type, element by element.
func (c *call) combine(a, b *Tensor, floats func(x, y float32) float32, whole func(x, y int64) int64) (*Tensor, error) {
	out, err := c.pair(a, b, a.Type)
	switch {
	case err != nil:
	case a.Type == Float:
		zip(out.Floats, out.Shape, a.Floats, a.Shape, b.Floats, b.Shape, floats)
	default:
		zip(out.Ints, out.Shape, a.Ints, a.Shape, b.Ints, b.Shape, func(x, y int64) int64 { return a.Type.wrap(whole(x, y)) })
	}
	return out, err
}

func arithmetic(floats func(x, y float32) float32, whole func(x, y int64) int64) operator {
	return operator{"nn", 2, func(c *call) error { return c.give(c.combine(c.in[0], c.in[1], floats, whole)) }}
}

// comparison returns an operator of two tensors of the same type whose results are booleans.
func comparison(in string, floats func(x, y float32) bool, whole func(x, y int64) bool) operator {
	return operator{in, 2, func(c *call) error {
		a, b := c.in[0], c.in[1]
		out, err := c.pair(a, b, Bool)
		switch {
		case err != nil:
		case a.Type == Float:
			zip(out.Ints, out.Shape, a.Floats, a.Shape, b.Floats, b.Shape, func(x, y float32) int64 { return bit(floats(x, y)) })
		default:
			zip(out.Ints, out.Shape, a.Ints, a.Shape, b.Ints, b.Shape, func(x, y int64) int64 { return bit(whole(x, y)) })
		}
		return c.give(out, err)
	}}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func multiplied(x, y float32) float32 { return x * y }

func larger(x, y float32) float32 {
	if x > y || x != x {
		return x
	}
	return y
}

func smaller(x, y float32) float32 {
	if x < y || x != x {
		return x
	}
	return y
}

var errDivision = errors.New("an integer is divided by 0")

func divide(c *call) error {
	if slices.Contains(c.in[1].Ints, 0) {
		return errDivision
	}
	return c.give(c.combine(c.in[0], c.in[1], func(x, y float32) float32 { return x / y }, func(x, y int64) int64 { return x / y }))
}

// modulo returns the rest of a division of integers, with the sign of the divisor.
func modulo(c *call) error {
	if slices.Contains(c.in[1].Ints, 0) {
		return errDivision
	}
	if c.int("fmod", 0) != 0 {
		return errors.New("fmod=1, want 0")
	}
	return c.give(c.combine(c.in[0], c.in[1], nil, func(x, y int64) int64 {
		rest := x % y
		if rest != 0 && (rest < 0) != (y < 0) {
			rest += y
		}
		return rest
	}))
}

// powerWork is what an element of a power costs that is not a square.
const powerWork = 100

func power(c *call) (err error) {
	x, by := c.in[0], c.in[1]
	if by, err = c.cast(by, Float); err != nil {
		return err
	}
	if by.Len() == 1 && by.Floats[0] == 2 && len(by.Shape) <= len(x.Shape) {
		return c.give(c.combine(x, x, multiplied, nil))
	}
	shape, err := broadcast(x.Shape, by.Shape)
	if err != nil {
		return err
	}
	n, err := count(shape)
	if err == nil {
		err = c.charge(powerWork * n)
	}
	if err != nil {
		return err
	}
	power := func(x, y float32) float32 { return float32(math.Pow(float64(x), float64(y))) }
	return c.give(c.combine(x, by, power, nil))
}

// prelu multiplies what is negative by a slope.
func prelu(c *call) error {
	if err := within(c.in[1], c.in[0].Shape); err != nil {
		return err
	}
	return c.give(c.combine(c.in[0], c.in[1], func(x, a float32) float32 {
		if x < 0 {
			return a * x
		}
		return x
	}, nil))
}

func clip(c *call) (err error) {
	t := c.in[0]
	for k, f := range []struct {
		floats func(x, y float32) float32
		whole  func(x, y int64) int64
	}{{larger, func(x, y int64) int64 { return max(x, y) }}, {smaller, func(x, y int64) int64 { return min(x, y) }}} {
		limit := c.input(1 + k)
		if limit == nil {
			continue
		}
		if limit.Len() != 1 {
			return fmt.Errorf("limit %v, want one number", limit)
		}
		if t, err = c.combine(t, limit.view(nil), f.floats, f.whole); err != nil {
			return err
		}
	}
	return c.give(t, nil)
}

// where chooses between elements of inputs 1 and 2.
func where(c *call) error {
	cond, x, y := c.in[0], c.in[1], c.in[2]
	if x.Type != y.Type {
		return fmt.Errorf("inputs %v and %v, want the same type", x, y)
	}
	shape, err := broadcast(x.Shape, y.Shape)
	if err == nil {
		shape, err = broadcast(cond.Shape, shape)
	}
	if err != nil {
		return err
	}
	out, err := c.spread(y, shape)
	if err != nil {
		return err
	}
	sb, sx := reach(cond.Shape, shape), reach(x.Shape, shape)
	db, dx := last(sb), last(sx)
	walk(shape, sb, sx, func(at, i, j, n int) {
		for k := range n {
			switch {
			case cond.Ints[i+k*db] == 0:
			case x.Type == Float:
				out.Floats[at+k] = x.Floats[j+k*dx]
			default:
				out.Ints[at+k] = x.Ints[j+k*dx]
			}
		}
	})
	return c.give(out, nil)
}
