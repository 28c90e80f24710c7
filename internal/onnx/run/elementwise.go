package run

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// broadcast returns the shape of an elementwise result of two tensors.
func broadcast(a, b []int) ([]int, error) {
	shape := make([]int, max(len(a), len(b)))
	for i := range shape {
		x, y := fromEnd(a, len(shape)-i), fromEnd(b, len(shape)-i)
		switch {
		case x == y || y == 1:
			shape[i] = x
		case x == 1:
			shape[i] = y
		default:
			return nil, fmt.Errorf("shapes %v and %v do not go together", a, b)
		}
	}
	return shape, nil
}

// fromEnd returns the i-th dimension of a shape from its end, 1 beyond its beginning.
func fromEnd(shape []int, i int) int {
	if i > len(shape) {
		return 1
	}
	return shape[len(shape)-i]
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

// same returns an error unless two tensors have the same type.
func same(a, b *Tensor) error {
	if a.Type != b.Type {
		return fmt.Errorf("inputs %v and %v, want the same type", a, b)
	}
	return nil
}

// combine returns f of two tensors of the same type, element by element.
func (c *call) combine(a, b *Tensor, floats func(x, y float32) float32, ints func(x, y int64) int64) (*Tensor, error) {
	if err := same(a, b); err != nil {
		return nil, err
	}
	shape, err := broadcast(a.Shape, b.Shape)
	if err != nil {
		return nil, err
	}
	out, err := c.make(a.Type, shape)
	if err != nil {
		return nil, err
	}
	if a.Type == Float {
		zip(out.Floats, shape, a.Floats, a.Shape, b.Floats, b.Shape, floats)
		return out, nil
	}
	zip(out.Ints, shape, a.Ints, a.Shape, b.Ints, b.Shape, func(x, y int64) int64 { return a.Type.wrap(ints(x, y)) })
	return out, nil
}

func arithmetic(floats func(x, y float32) float32, ints func(x, y int64) int64) operator {
	return operator{"nn", 1, func(c *call) error { return c.give(c.combine(c.in[0], c.in[1], floats, ints)) }}
}

func variadic(floats func(x, y float32) float32, ints func(x, y int64) int64) operator {
	return operator{"n*", 1, func(c *call) (err error) {
		t := c.in[0]
		for _, other := range c.in[1:] {
			if t, err = c.combine(t, other, floats, ints); err != nil {
				return err
			}
		}
		return c.give(t, nil)
	}}
}

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

func divide(c *call) error {
	if slices.Contains(c.in[1].Ints, 0) {
		return errors.New("an integer is divided by 0")
	}
	return c.give(c.combine(c.in[0], c.in[1], func(x, y float32) float32 { return x / y }, func(x, y int64) int64 { return x / y }))
}

// powerWork is what an element of a power costs that is not a square.
const powerWork = 100

func power(c *call) (err error) {
	x, by := c.in[0], c.in[1]
	if by.Type != Float {
		if by, err = c.cast(by, Float); err != nil {
			return err
		}
	}
	if by.Len() == 1 && by.Floats[0] == 2 && len(by.Shape) <= len(x.Shape) {
		return c.give(c.combine(x, x, func(x, y float32) float32 { return x * y }, nil))
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

// compare returns an operator of two tensors of the same type whose results are booleans.
func compare(floats func(x, y float32) bool, ints func(x, y int64) bool) func(c *call) error {
	return func(c *call) error {
		a, b := c.in[0], c.in[1]
		if err := same(a, b); err != nil {
			return err
		}
		shape, err := broadcast(a.Shape, b.Shape)
		if err != nil {
			return err
		}
		out, err := c.make(Bool, shape)
		if err != nil {
			return err
		}
		if a.Type == Float {
			zip(out.Ints, shape, a.Floats, a.Shape, b.Floats, b.Shape, func(x, y float32) int64 { return bit(floats(x, y)) })
		} else {
			zip(out.Ints, shape, a.Ints, a.Shape, b.Ints, b.Shape, func(x, y int64) int64 { return bit(ints(x, y)) })
		}
		return c.give(out, nil)
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func clip(c *call) (err error) {
	t := c.in[0]
	for k, f := range []struct {
		floats func(x, y float32) float32
		ints   func(x, y int64) int64
	}{{larger, func(x, y int64) int64 { return max(x, y) }}, {smaller, func(x, y int64) int64 { return min(x, y) }}} {
		limit := c.input(1 + k)
		if limit == nil {
			continue
		}
		if limit.Len() != 1 {
			return fmt.Errorf("limit %v, want one number", limit)
		}
		if t, err = c.combine(t, limit.view(nil), f.floats, f.ints); err != nil {
			return err
		}
	}
	return c.give(t, nil)
}

// modulo returns the rest of a division, with the sign of the divisor, or with that of the dividend if fmod is 1.
func modulo(c *call) error {
	if slices.Contains(c.in[1].Ints, 0) {
		return errors.New("an integer is divided by 0")
	}
	like := c.int("fmod", 0) != 0
	if c.in[0].Type == Float && !like {
		return errors.New("the rest of floats, want fmod=1")
	}
	return c.give(c.combine(c.in[0], c.in[1], func(x, y float32) float32 { return float32(math.Mod(float64(x), float64(y))) },
		func(x, y int64) int64 {
			rest := x % y
			if !like && rest != 0 && (rest < 0) != (y < 0) {
				rest += y
			}
			return rest
		}))
}
