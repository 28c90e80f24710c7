package run

import (
	"fmt"
	"math"
)

// each returns a tensor of a type with f of each element of the first input, which has floats, or else whole of each integer.
func (c *call) each(of Type, f func(float32) float32, whole func(int64) int64) error {
	t := c.in[0]
	out, err := c.make(of, t.Shape)
	if err != nil {
		return err
	}
	for i, x := range t.Floats {
		if y := f(x); of == Float {
			out.Floats[i] = y
		} else {
			out.Ints[i] = int64(y)
		}
	}
	for i, x := range t.Ints {
		out.Ints[i] = of.wrap(whole(x))
	}
	return c.give(out, nil)
}

// function returns an operator that computes a function of floats in double precision, with the attributes alpha and beta, which
// may be called gamma, or else these numbers.
func function(work int, alpha, beta float64, f func(x, a, b float64) float64) operator {
	return operator{"f", work, func(c *call) error {
		a, b := alpha, beta
		for name, to := range map[string]*float64{"alpha": &a, "beta": &b, "gamma": &b} {
			if given, ok := c.node.attributes[name]; ok {
				*to = float64(given.f)
			}
		}
		return c.each(Float, func(x float32) float32 { return float32(f(float64(x), a, b)) }, nil)
	}}
}

func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func elu(x, a float64) float64 {
	if x < 0 {
		return a * math.Expm1(x)
	}
	return x
}

func gelu(c *call) error {
	f := func(x float64) float64 { return math.Erf(x / math.Sqrt2) }
	if c.node.attributes["approximate"].s == "tanh" {
		f = func(x float64) float64 { return math.Tanh(math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x)) }
	}
	return c.each(Float, func(x float32) float32 { return float32(0.5 * float64(x) * (1 + f(float64(x)))) }, nil)
}

func sign(c *call) error {
	return c.each(Float, func(x float32) float32 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return x
	}, nil)
}

func negate(c *call) error {
	return c.each(c.in[0].Type, func(x float32) float32 { return -x }, func(x int64) int64 { return -x })
}

func absolute(c *call) error {
	return c.each(c.in[0].Type, func(x float32) float32 { return float32(math.Abs(float64(x))) },
		func(x int64) int64 { return max(x, -x) })
}

func isNaN(c *call) error {
	return c.each(Bool, func(x float32) float32 { return float32(bit(x != x)) }, nil)
}

func not(c *call) error { return c.each(Bool, nil, func(x int64) int64 { return 1 - x }) }

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
	for i, x := range t.Floats {
		if to == Bool {
			out.Ints[i] = bit(x != 0)
		} else {
			out.Ints[i] = to.wrap(whole(x))
		}
	}
	for i, x := range t.Ints {
		switch to {
		case Float:
			out.Floats[i] = float32(x)
		case Bool:
			out.Ints[i] = bit(x != 0)
		default:
			out.Ints[i] = to.wrap(x)
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

func cast(c *call) error { return c.give(c.cast(c.in[0], Type(c.int("to", 0)))) } //nolint:gosec // see typeOf

func castLike(c *call) error { return c.give(c.cast(c.in[0], c.in[1].Type)) }
