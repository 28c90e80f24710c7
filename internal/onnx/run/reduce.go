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

// sums computes sums in double precision, divided by the number of elements if mean.
func (c *call) sums(mean bool) error {
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
	sums := make([]float64, out.Len())
	s := reach(kept, t.Shape)
	d := last(s)
	walk(t.Shape, s, s, func(at, i, _, n int) {
		for k := range n {
			sums[i+k*d] += float64(t.Floats[at+k])
		}
	})
	for i, x := range sums {
		if mean {
			x /= float64(t.Len()) / float64(out.Len())
		}
		out.Floats[i] = float32(x)
	}
	return c.give(out, nil)
}

func reduceSum(c *call) error  { return c.sums(false) }
func reduceMean(c *call) error { return c.sums(true) }

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
	columns(t.Shape, at, func(at, d, n int) {
		top, sum := float32(math.Inf(-1)), float32(0)
		for k := range n {
			top = larger(top, t.Floats[at+k*d])
		}
		for k := range n {
			x := t.Floats[at+k*d] - top
			e := kernel.Exp(x)
			sum += e
			if out.Floats[at+k*d] = e; logarithm {
				out.Floats[at+k*d] = x
			}
		}
		for k := range n {
			if logarithm {
				out.Floats[at+k*d] -= float32(math.Log(float64(sum)))
			} else {
				out.Floats[at+k*d] /= sum
			}
		}
	})
	return c.give(out, nil)
}

func softmax(c *call) error    { return c.normalise(false) }
func logSoftmax(c *call) error { return c.normalise(true) }

func layerNorm(c *call) error {
	t := c.in[0]
	at, err := c.axis(-1, len(t.Shape))
	if err != nil {
		return err
	}
	width, _ := count(t.Shape[at:])
	scale, bias := c.in[1], c.input(2)
	for _, w := range []*Tensor{scale, bias} {
		if w == nil {
			continue
		}
		if shape, err := broadcast(w.Shape, t.Shape[at:]); err != nil || !slices.Equal(shape, t.Shape[at:]) {
			return fmt.Errorf("%v for the last %d dimensions of %v", w, len(t.Shape)-at, t)
		}
	}
	out, err := c.make(Float, t.Shape)
	if err != nil {
		return err
	}
	epsilon := float64(c.float("epsilon", 1e-5))
	for first := 0; first < len(t.Floats); first += width {
		x, y := t.Floats[first:first+width], out.Floats[first:first+width]
		mean, variance := 0.0, 0.0
		for _, v := range x {
			mean += float64(v)
		}
		mean /= float64(width)
		for _, v := range x {
			variance += float64((float64(v) - mean) * (float64(v) - mean))
		}
		inverse := 1 / math.Sqrt(variance/float64(width)+epsilon)
		for i, v := range x {
			y[i] = float32((float64(v) - mean) * inverse)
		}
		zip(y, t.Shape[at:], y, t.Shape[at:], scale.Floats, scale.Shape, func(x, y float32) float32 { return x * y })
		if bias != nil {
			zip(y, t.Shape[at:], y, t.Shape[at:], bias.Floats, bias.Shape, func(x, y float32) float32 { return x + y })
		}
	}
	return c.give(out, nil)
}
