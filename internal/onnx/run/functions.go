package run

import (
	"fmt"
	"math"
	"slices"
)

// each returns a tensor with f of each element of the first input, which has floats.
func (c *call) each(f func(float32) float32) error {
	out, err := c.make(Float, c.in[0].Shape)
	if err != nil {
		return err
	}
	for i, x := range c.in[0].Floats {
		out.Floats[i] = f(x)
	}
	return c.give(out, nil)
}

// eachInt returns a tensor with f of each element of the first input, which has integers or booleans.
func (c *call) eachInt(f func(int64) int64) error {
	t := c.in[0]
	out, err := c.make(t.Type, t.Shape)
	if err != nil {
		return err
	}
	for i, x := range t.Ints {
		out.Ints[i] = t.Type.wrap(f(x))
	}
	return c.give(out, nil)
}

func function(f func(float32) float32) operator {
	return operator{"f", 1, func(c *call) error { return c.each(f) }}
}

// double returns an operator that computes in double precision.
func double(f func(float64) float64) operator {
	return function(func(x float32) float32 { return float32(f(float64(x))) })
}

func negate(c *call) error {
	if c.in[0].Type == Float {
		return c.each(func(x float32) float32 { return -x })
	}
	return c.eachInt(func(x int64) int64 { return -x })
}

func absolute(c *call) error {
	if c.in[0].Type == Float {
		return c.each(func(x float32) float32 { return float32(math.Abs(float64(x))) })
	}
	return c.eachInt(func(x int64) int64 { return max(x, -x) })
}

func not(c *call) error { return c.eachInt(func(x int64) int64 { return 1 - x }) }

func sign(x float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// mish returns x tanh(softplus(x)), by one exponential.
func mish(x float64) float64 {
	if x > 20 {
		return x // to within float32
	}
	e := math.Exp(x)
	return x * (e * (e + 2) / (e*(e+2) + 2))
}

func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// parametric returns an operator that computes in double precision, with the attributes alpha and beta, or else these numbers.
func parametric(alpha, beta float32, f func(x, a, b float64) float64) operator {
	return operator{"f", 1, func(c *call) error {
		a, b := float64(c.float("alpha", alpha)), float64(c.float("beta", c.float("gamma", beta)))
		return c.each(func(x float32) float32 { return float32(f(float64(x), a, b)) })
	}}
}

func leakyRelu(x, a, _ float64) float64 {
	if x < 0 {
		return a * x
	}
	return x
}

func elu(x, a, _ float64) float64 {
	if x < 0 {
		return a * math.Expm1(x)
	}
	return x
}

func selu(x, a, b float64) float64 { return b * elu(x, a, 0) }

func celu(x, a, _ float64) float64 { return math.Max(0, x) + math.Min(0, a*math.Expm1(x/a)) }

func swish(x, a, _ float64) float64 { return x / (1 + math.Exp(-a*x)) }

func hardSigmoid(x, a, b float64) float64 { return math.Max(0, math.Min(1, a*x+b)) }

// prelu multiplies what is negative by a slope.
func prelu(c *call) error {
	x, slope := c.in[0], c.in[1]
	if shape, err := broadcast(slope.Shape, x.Shape); err != nil || !slices.Equal(shape, x.Shape) {
		return fmt.Errorf("slopes %v for %v", slope, x)
	}
	return c.give(c.combine(x, slope, func(x, a float32) float32 {
		if x < 0 {
			return a * x
		}
		return x
	}, nil))
}

func gelu(c *call) error {
	if c.node.attributes["approximate"].s == "tanh" {
		return c.each(func(y float32) float32 {
			x := float64(y)
			return float32(0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))))
		})
	}
	return c.each(func(x float32) float32 { return float32(0.5 * float64(x) * (1 + math.Erf(float64(x)/math.Sqrt2))) })
}

func isNaN(c *call) error { return c.test(func(x float32) bool { return x != x }) }
func isInf(c *call) error { return c.test(func(x float32) bool { return math.IsInf(float64(x), 0) }) }

// test returns a tensor with whether a condition holds for each element of the first input.
func (c *call) test(holds func(x float32) bool) error {
	out, err := c.make(Bool, c.in[0].Shape)
	if err != nil {
		return err
	}
	for i, x := range c.in[0].Floats {
		out.Ints[i] = bit(holds(x))
	}
	return c.give(out, nil)
}
