package run

import (
	"fmt"
	"math"
)

// layerNorm normalises the last dimensions, from axis on: it subtracts their mean, divides by the root of their mean square, and
// applies a scale and a bias.
func layerNorm(c *call) error {
	t := c.in[0]
	at, err := c.axis(-1, len(t.Shape))
	if err != nil {
		return err
	}
	width, _ := count(t.Shape[at:])
	for _, w := range c.in[1:] {
		if w != nil {
			if err := within(w, t.Shape[at:]); err != nil {
				return err
			}
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
	}
	zip(out.Floats, t.Shape, out.Floats, t.Shape, c.in[1].Floats, c.in[1].Shape, multiplied)
	if bias := c.input(2); bias != nil {
		zip(out.Floats, t.Shape, out.Floats, t.Shape, bias.Floats, bias.Shape, func(x, y float32) float32 { return x + y })
	}
	return c.give(out, nil)
}

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
