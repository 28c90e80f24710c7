package run

import (
	"fmt"
	"math"
	"slices"
)

// layerNorm normalises the last dimensions, from axis on: it subtracts their mean if centred, divides by the root of their mean
// square, and applies a scale and a bias.
func (c *call) layerNorm(centred bool) error {
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
		if mean /= float64(width); !centred {
			mean = 0
		}
		for _, v := range x {
			variance += float64((float64(v) - mean) * (float64(v) - mean))
		}
		inverse := 1 / math.Sqrt(variance/float64(width)+epsilon)
		for i, v := range x {
			y[i] = float32((float64(v) - mean) * inverse)
		}
	}
	zip(out.Floats, t.Shape, out.Floats, t.Shape, scale.Floats, scale.Shape, func(x, y float32) float32 { return x * y })
	if bias != nil {
		zip(out.Floats, t.Shape, out.Floats, t.Shape, bias.Floats, bias.Shape, func(x, y float32) float32 { return x + y })
	}
	return c.give(out, nil)
}

func layerNorm(c *call) error { return c.layerNorm(true) }
func rmsNorm(c *call) error   { return c.layerNorm(false) }

// batchNorm normalises by the means and variances of training, which dimension 1 has an element of.
func batchNorm(c *call) error {
	t := c.in[0]
	if len(t.Shape) < 2 || c.int("training_mode", 0) != 0 {
		return fmt.Errorf("%v, want 2 dimensions or more, and training_mode=0", t)
	}
	width := t.Shape[1]
	for k := 1; k <= 4; k++ { // scale, bias, mean and variance
		if c.in[k].Len() != width {
			return fmt.Errorf("input %d is %v for %d features", k, c.in[k], width)
		}
	}
	out, err := c.make(Float, t.Shape)
	if err != nil {
		return err
	}
	epsilon := float64(c.float("epsilon", 1e-5))
	inner, _ := count(t.Shape[2:])
	for i, x := range t.Floats {
		f := i / inner % width
		scale := float64(c.in[1].Floats[f]) / math.Sqrt(float64(c.in[4].Floats[f])+epsilon)
		out.Floats[i] = float32((float64(x)-float64(c.in[3].Floats[f]))*scale) + c.in[2].Floats[f]
	}
	return c.give(out, nil)
}
