package run

import "math"

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

func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func leakyRelu(c *call) error {
	alpha := c.float("alpha", 0.01)
	return c.each(func(x float32) float32 {
		if x < 0 {
			return alpha * x
		}
		return x
	})
}

func elu(c *call) error {
	alpha := c.float("alpha", 1)
	return c.each(func(x float32) float32 {
		if x < 0 {
			return alpha * float32(math.Expm1(float64(x)))
		}
		return x
	})
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

func isNaN(c *call) error {
	out, err := c.make(Bool, c.in[0].Shape)
	if err != nil {
		return err
	}
	for i, x := range c.in[0].Floats {
		out.Ints[i] = bit(x != x)
	}
	return c.give(out, nil)
}
