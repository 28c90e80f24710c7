package run

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/internal/kernel"
)

// reduced returns the shape of the first input after a reduction, and what its dimensions are if none is dropped.
func (c *call) reduced() (shape, kept []int, err error) {
	t := c.in[0]
	drop, found, err := c.axesOf(1, len(t.Shape))
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(drop, true) && (!found || c.int("noop_with_empty_axes", 0) == 0) {
		for i := range drop {
			drop[i] = true
		}
	}
	kept, shape = slices.Clone(t.Shape), []int{}
	for i, d := range t.Shape {
		if drop[i] {
			d, kept[i] = 1, 1
		}
		if !drop[i] || c.int("keepdims", 1) != 0 {
			shape = append(shape, d)
		}
	}
	return shape, kept, nil
}

// fold combines all elements of the first input that end up at the same place. first is what a place begins with; there is no
// result for nothing if needed.
func fold[T any](c *call, x []T, kept []int, into []T, first T, needed bool, f func(sum, x T) T) error {
	if needed && len(x) == 0 && len(into) > 0 {
		return errors.New("the largest or smallest of no elements")
	}
	for i := range into {
		into[i] = first
	}
	s := reach(kept, c.in[0].Shape)
	d := last(s)
	walk(c.in[0].Shape, s, s, func(at, i, _, n int) {
		for k := range n {
			into[i+k*d] = f(into[i+k*d], x[at+k])
		}
	})
	return nil
}

// reduce computes a reduction to an extreme.
func reduce(c *call, floats func(x, y float32) float32, ints func(x, y int64) int64, first float64, firstInt int64) error {
	shape, kept, err := c.reduced()
	if err != nil {
		return err
	}
	out, err := c.make(c.in[0].Type, shape)
	if err != nil {
		return err
	}
	if out.Type == Float {
		err = fold(c, c.in[0].Floats, kept, out.Floats, float32(first), true, floats)
	} else {
		err = fold(c, c.in[0].Ints, kept, out.Ints, firstInt, true, ints)
	}
	return c.give(out, err)
}

func reduceMax(c *call) error {
	return reduce(c, larger, func(x, y int64) int64 { return max(x, y) }, math.Inf(-1), math.MinInt64)
}

func reduceMin(c *call) error {
	return reduce(c, smaller, func(x, y int64) int64 { return min(x, y) }, math.Inf(1), math.MaxInt64)
}

// sums computes sums in double precision: of before of each element, and then after of the sum and of the number of elements in
// it. A function that is nil changes nothing. Integers have neither.
func (c *call) sums(before func(x float64) float64, after func(sum, n float64) float64) error {
	t := c.in[0]
	shape, kept, err := c.reduced()
	if err != nil {
		return err
	}
	out, err := c.make(t.Type, shape)
	if err != nil {
		return err
	}
	if t.Type != Float {
		return c.give(out, fold(c, t.Ints, kept, out.Ints, 0, false, func(sum, x int64) int64 { return t.Type.wrap(sum + x) }))
	}
	if err := c.reserve(8 * out.Len()); err != nil {
		return err
	}
	sums := make([]float64, out.Len())
	s := reach(kept, t.Shape)
	d := last(s)
	walk(t.Shape, s, s, func(at, i, _, n int) {
		for k := range n {
			x := float64(t.Floats[at+k])
			if before != nil {
				x = before(x)
			}
			sums[i+k*d] += x
		}
	})
	for i, x := range sums {
		if after != nil {
			x = after(x, float64(t.Len())/float64(out.Len()))
		}
		out.Floats[i] = float32(x)
	}
	return c.give(out, nil)
}

// sum returns a reduction that is a sum. See sums.
func sum(in string, before func(x float64) float64, after func(sum, n float64) float64) operator {
	return operator{in, 1, func(c *call) error { return c.sums(before, after) }}
}

func square(x float64) float64 { return x * x }

// argument returns the operator that finds the first, or the last, place along a dimension where an element is the best.
func argument(better func(x, y float32) bool) operator {
	return operator{"f", 1, func(c *call) error {
		t := c.in[0]
		at, err := c.axis(0, len(t.Shape))
		if err != nil {
			return err
		}
		if t.Shape[at] == 0 {
			return errors.New("the place of the largest or smallest of no elements")
		}
		shape := slices.Clone(t.Shape)
		shape[at] = 1
		out, err := c.make(Int64, shape)
		if err != nil {
			return err
		}
		inner, _ := count(shape[at+1:])
		columns(t.Shape, at, func(at, d, n int) {
			best := 0
			for k := range n {
				x, y := t.Floats[at+k*d], t.Floats[at+best*d]
				if better(x, y) || x == y && c.int("select_last_index", 0) != 0 {
					best = k
				}
			}
			out.Ints[at/(inner*n)*inner+at%inner] = int64(best)
		})
		if c.int("keepdims", 1) == 0 {
			out = out.view(slices.Delete(shape, at, at+1))
		}
		return c.give(out, nil)
	}}
}

// cumulate computes sums of all elements up to each along a dimension.
func cumulate(c *call) error {
	t := c.in[0]
	if c.in[1].Len() != 1 {
		return fmt.Errorf("axis %v, want one number", c.in[1])
	}
	at, err := axis(c.in[1].Ints[0], len(t.Shape))
	if err != nil {
		return err
	}
	out, err := c.make(Float, t.Shape)
	if err != nil {
		return err
	}
	less, backwards := c.int("exclusive", 0) != 0, c.int("reverse", 0) != 0
	columns(t.Shape, at, func(at, d, n int) {
		sum := float32(0)
		for k := range n {
			if backwards {
				k = n - 1 - k
			}
			before := sum
			sum += t.Floats[at+k*d]
			if out.Floats[at+k*d] = sum; less {
				out.Floats[at+k*d] = before
			}
		}
	})
	return c.give(out, nil)
}

// columns calls visit for each column of the first input along a dimension: n elements, the first at at, and d apart.
func columns(shape []int, axis int, visit func(at, d, n int)) {
	inner, _ := count(shape[axis+1:])
	outer, _ := count(shape[:axis])
	n := shape[axis]
	for i := 0; i < outer && n > 0 && inner > 0; i++ {
		for j := range inner {
			visit(i*n*inner+j, inner, n)
		}
	}
}

// normalise computes the softmax along a dimension, or its logarithm.
func (c *call) normalise(logarithm bool) error {
	t := c.in[0]
	at, err := c.axis(-1, len(t.Shape))
	if err != nil {
		return err
	}
	out, err := c.make(Float, t.Shape)
	if err != nil {
		return err
	}
	if err := c.charge(2 * rowWork * t.Len() / max(t.Shape[at], 1)); err != nil {
		return err
	}
	columns(t.Shape, at, func(at, d, n int) { soften(out.Floats, t.Floats, at, d, n, logarithm) })
	return c.give(out, nil)
}

// soften sets n elements of out, the first at at and d apart, to the softmax of those of x, or to its logarithm. out and x may be
// the same.
func soften(out, x []float32, at, d, n int, logarithm bool) {
	top, sum := float32(math.Inf(-1)), float32(0)
	for k := range n {
		top = larger(top, x[at+k*d])
	}
	for k := range n {
		v := x[at+k*d] - top
		e := kernel.Exp(v)
		sum += e
		if out[at+k*d] = e; logarithm {
			out[at+k*d] = v
		}
	}
	less := float32(0)
	if logarithm {
		less, sum = float32(math.Log(float64(sum))), 1
	}
	for k := range n {
		out[at+k*d] = (out[at+k*d] - less) / sum
	}
}

func softmax(c *call) error    { return c.normalise(false) }
func logSoftmax(c *call) error { return c.normalise(true) }
