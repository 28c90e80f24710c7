package run

import (
	"errors"
	"math"
	"slices"

	"github.com/clustergym/clustergym/internal/kernel"
)

// reduction combines the elements along dimensions to one: floats in double precision, beginning with first, with after applied
// to the result and to the number of elements in it.
type reduction struct {
	in     string
	first  float64
	floats func(so, x float64) float64
	whole  func(so, x int64) int64
	after  func(x, n float64) float64
}

func (r reduction) operator() operator {
	return operator{r.in, 2, func(c *call) error { return c.reduce(r) }}
}

// sum returns a reduction that is a sum.
func sum(in string, after func(sum, n float64) float64) operator {
	floats, whole := func(sum, x float64) float64 { return sum + x }, func(sum, x int64) int64 { return sum + x }
	return reduction{in, 0, floats, whole, after}.operator()
}

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

func (c *call) reduce(r reduction) error {
	t := c.in[0]
	shape, kept, err := c.reduced()
	if err != nil {
		return err
	}
	out, err := c.make(t.Type, shape)
	if err != nil {
		return err
	}
	if t.Len() == 0 && out.Len() > 0 && r.first != 0 {
		return errors.New("the largest or smallest of no elements")
	}
	s := reach(kept, t.Shape)
	if t.Type != Float {
		first := int64(0)
		if r.first != 0 {
			first = whole(float32(r.first))
		}
		fold(t.Shape, t.Ints, s, out.Ints, first, func(so, x int64) int64 { return t.Type.wrap(r.whole(so, x)) })
		return c.give(out, nil)
	}
	if err := c.reserve(8 * out.Len()); err != nil {
		return err
	}
	into := make([]float64, out.Len())
	fold(t.Shape, t.Floats, s, into, r.first, func(so float64, x float32) float64 { return r.floats(so, float64(x)) })
	for i, x := range into {
		if r.after != nil {
			x = r.after(x, float64(t.Len())/float64(out.Len()))
		}
		out.Floats[i] = float32(x)
	}
	return c.give(out, nil)
}

// fold combines all elements of x that end up at the same place of into, which begins with first.
func fold[T, U any](shape []int, x []T, s []int, into []U, first U, f func(so U, x T) U) {
	for i := range into {
		into[i] = first
	}
	d := last(s)
	walk(shape, s, s, func(at, i, _, n int) {
		for k := range n {
			into[i+k*d] = f(into[i+k*d], x[at+k])
		}
	})
}

// soften computes the softmax along a dimension, or its logarithm.
func (c *call) soften(logarithm bool) error {
	t := c.in[0]
	at, err := c.axis(-1, len(t.Shape))
	if err != nil {
		return err
	}
	out, err := c.make(Float, t.Shape)
	if err != nil || t.Len() == 0 {
		return c.give(out, err)
	}
	if err := c.charge(2 * rowWork * t.Len() / t.Shape[at]); err != nil {
		return err
	}
	d, _ := count(t.Shape[at+1:]) // how far apart elements are that go together
	for first := 0; first < t.Len(); first += d * t.Shape[at] {
		for i := range d {
			column(out.Floats[first+i:], t.Floats[first+i:], t.Shape[at], d, logarithm)
		}
	}
	return c.give(out, nil)
}

// column sets n elements of out, d apart, to the softmax of those of x, or to its logarithm.
func column(out, x []float32, n, d int, logarithm bool) {
	top, sum := float32(math.Inf(-1)), float32(0)
	for k := range n {
		top = larger(top, x[k*d])
	}
	for k := range n {
		v := x[k*d] - top
		e := kernel.Exp(v)
		sum += e
		if out[k*d] = e; logarithm {
			out[k*d] = v
		}
	}
	less := float32(0)
	if logarithm {
		less, sum = float32(math.Log(float64(sum))), 1
	}
	for k := range n {
		out[k*d] = (out[k*d] - less) / sum
	}
}

func softmax(c *call) error    { return c.soften(false) }
func logSoftmax(c *call) error { return c.soften(true) }
