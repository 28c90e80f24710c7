package run

import (
	"fmt"
	"math"
	"strings"

	"github.com/clustergym/clustergym/internal/kernel"
)

// operator is one that this package computes. The letters of in stand for its inputs:
//
//	f  floats      i  integers     b  booleans     n  floats or integers     a  anything
//
// Inputs behind | may be left out, and * repeats the letter before it. At most out outputs may be used, 0 for any number.
type operator struct {
	in      string
	out     int
	compute func(*call) error
}

// letter returns the letter of input k, 0 if there is no such input.
func (o operator) letter(k int) byte {
	in := strings.Replace(o.in, "|", "", 1)
	if before, ok := strings.CutSuffix(in, "*"); ok && k >= len(before) {
		return before[len(before)-1]
	}
	if k < len(in) {
		return in[k]
	}
	return 0
}

// fits returns an error if a node has other inputs or outputs than the operator.
func (o operator) fits(n *node) error {
	needed, _, _ := strings.Cut(strings.TrimSuffix(o.in, "*"), "|")
	for k := range max(len(needed), len(n.in)) {
		given := k < len(n.in) && n.in[k] >= 0
		if k < len(needed) && !given || given && o.letter(k) == 0 {
			return fmt.Errorf("%d inputs, want those of %q", len(n.in), o.in)
		}
	}
	if strings.HasSuffix(o.in, "*") {
		for k, i := range n.in {
			if i < 0 {
				return fmt.Errorf("input %d is left out", k)
			}
		}
	}
	if o.out > 0 && len(n.out) > o.out {
		return fmt.Errorf("%d outputs, want at most %d", len(n.out), o.out)
	}
	return nil
}

// takes returns an error unless input k may have the type of the tensor.
func (o operator) takes(k int, t *Tensor) error {
	ok, want := true, ""
	switch o.letter(k) {
	case 'f':
		ok, want = t.Type == Float, "float32"
	case 'i':
		ok, want = t.Type.integer(), "integers"
	case 'b':
		ok, want = t.Type == Bool, "bool"
	case 'n':
		ok, want = t.Type != Bool, "float32 or integers"
	}
	if !ok {
		return fmt.Errorf("input %d is %v, want %s", k, t, want)
	}
	return nil
}

// operators are those that are supported.
var operators = map[string]operator{
	"Identity": {"a", 1, func(c *call) error { return c.give(c.in[0], nil) }},
	"Dropout":  {"f|fb", 1, func(c *call) error { return c.give(c.in[0], nil) }},
	"Constant": {"", 1, constant}, "ConstantOfShape": {"i", 1, constantOfShape}, "Range": {"nnn", 1, numbers},
	"Cast": {"a", 1, cast}, "CastLike": {"aa", 1, castLike},

	"Add": arithmetic(func(x, y float32) float32 { return x + y }, func(x, y int64) int64 { return x + y }),
	"Sub": arithmetic(func(x, y float32) float32 { return x - y }, func(x, y int64) int64 { return x - y }),
	"Mul": arithmetic(func(x, y float32) float32 { return x * y }, func(x, y int64) int64 { return x * y }),
	"Div": {"nn", 1, divide}, "Mod": {"nn", 1, modulo}, "Pow": {"fn", 1, power},
	"Sum":            variadic(func(x, y float32) float32 { return x + y }, func(x, y int64) int64 { return x + y }),
	"Max":            variadic(larger, func(x, y int64) int64 { return max(x, y) }),
	"Min":            variadic(smaller, func(x, y int64) int64 { return min(x, y) }),
	"Equal":          {"aa", 1, compare(func(x, y float32) bool { return x == y }, func(x, y int64) bool { return x == y })},
	"Greater":        {"nn", 1, compare(func(x, y float32) bool { return x > y }, func(x, y int64) bool { return x > y })},
	"Less":           {"nn", 1, compare(func(x, y float32) bool { return x < y }, func(x, y int64) bool { return x < y })},
	"GreaterOrEqual": {"nn", 1, compare(func(x, y float32) bool { return x >= y }, func(x, y int64) bool { return x >= y })},
	"LessOrEqual":    {"nn", 1, compare(func(x, y float32) bool { return x <= y }, func(x, y int64) bool { return x <= y })},
	"And":            {"bb", 1, compare(nil, func(x, y int64) bool { return x&y != 0 })},
	"Or":             {"bb", 1, compare(nil, func(x, y int64) bool { return x|y != 0 })},
	"Xor":            {"bb", 1, compare(nil, func(x, y int64) bool { return x != y })},
	"Not":            {"b", 1, not}, "Where": {"baa", 1, where}, "Clip": {"n|nn", 1, clip},
	"Neg": {"n", 1, negate}, "Abs": {"n", 1, absolute},

	"Relu":        function(func(x float32) float32 { return larger(x, 0) }),
	"Sigmoid":     function(kernel.Sigmoid[float32]),
	"Exp":         function(kernel.Exp[float32]),
	"Tanh":        double(math.Tanh),
	"Log":         double(math.Log),
	"Sqrt":        double(math.Sqrt),
	"Erf":         double(math.Erf),
	"Floor":       double(math.Floor),
	"Ceil":        double(math.Ceil),
	"Sin":         double(math.Sin),
	"Cos":         double(math.Cos),
	"Reciprocal":  function(func(x float32) float32 { return 1 / x }),
	"Sign":        function(sign),
	"Softplus":    double(softplus),
	"HardSwish":   double(func(x float64) float64 { return x * math.Max(0, math.Min(1, x/6+0.5)) }),
	"Mish":        double(mish),
	"Softsign":    double(func(x float64) float64 { return x / (1 + math.Abs(x)) }),
	"Round":       double(math.RoundToEven),
	"LeakyRelu":   parametric(0.01, 0, leakyRelu),
	"Elu":         parametric(1, 0, elu),
	"Selu":        parametric(1.67326319217681884765625, 1.05070102214813232421875, selu),
	"Celu":        parametric(1, 0, celu),
	"Swish":       parametric(1, 0, swish),
	"HardSigmoid": parametric(0.2, 0.5, hardSigmoid),
	"PRelu":       {"ff", 1, prelu}, "Gelu": {"f", 1, gelu},
	"IsNaN": {"f", 1, isNaN}, "IsInf": {"f", 1, isInf},

	"Shape": {"a", 1, shapeOf}, "Reshape": {"ai", 1, reshape}, "Flatten": {"a", 1, flatten}, "Squeeze": {"a|i", 1, squeeze},
	"Unsqueeze": {"a|i", 1, unsqueeze}, "Transpose": {"a", 1, transpose}, "Expand": {"ai", 1, expand}, "Tile": {"ai", 1, tile},
	"Concat": {"a*", 1, concat}, "Split": {"a|i", 0, split}, "Slice": {"aii|ii", 1, slice},
	"Gather": {"ai", 1, gather}, "GatherElements": {"ai", 1, gatherElements}, "Trilu": {"a|i", 1, triangle},
	"Size": {"a", 1, func(c *call) error { return c.give(ints64(c.in[0].Len()).view(nil), nil) }},

	"MatMul": {"ff", 1, matMul}, "Gemm": {"ff|f", 1, gemm}, "Einsum": {"f*", 1, einsum}, "Attention": {"fff|a", 1, attention},
	"Softmax": {"f", 1, softmax}, "LogSoftmax": {"f", 1, logSoftmax}, "CumSum": {"fi", 1, cumulate},
	"LayerNormalization": {"ff|f", 1, layerNorm}, "RMSNormalization": {"ff", 1, rmsNorm},
	"BatchNormalization": {"fffff", 1, batchNorm},
	"ReduceSum":          sum("n|i", nil, nil),
	"ReduceMean":         sum("f|i", nil, func(sum, n float64) float64 { return sum / n }),
	"ReduceL1":           sum("f|i", math.Abs, nil),
	"ReduceL2":           sum("f|i", square, func(sum, _ float64) float64 { return math.Sqrt(sum) }),
	"ReduceSumSquare":    sum("f|i", square, nil),
	"ArgMax":             argument(func(x, y float32) bool { return x > y }),
	"ArgMin":             argument(func(x, y float32) bool { return x < y }),
	"ReduceMax":          {"n|i", 1, reduceMax}, "ReduceMin": {"n|i", 1, reduceMin},
}
