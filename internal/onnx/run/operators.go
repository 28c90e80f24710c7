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
// Inputs behind | may be left out, and * repeats the letter before it. work is what an element costs that it makes, see cost.go.
type operator struct {
	in      string
	work    int
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

// fits returns an error if a node has other inputs or outputs than the operator. Only Split has more than one output.
func (o operator) fits(n *node) error {
	needed, _, _ := strings.Cut(strings.TrimSuffix(o.in, "*"), "|")
	for k := range max(len(needed), len(n.in)) {
		given := k < len(n.in) && n.in[k] >= 0
		if k < len(needed) && !given || given && o.letter(k) == 0 || !given && strings.HasSuffix(o.in, "*") {
			return fmt.Errorf("%d inputs, want those of %q", len(n.in), o.in)
		}
	}
	if n.operator != "Split" && len(n.out) > 1 {
		return fmt.Errorf("%d outputs, want at most 1", len(n.out))
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

// operators are those that are supported, by families.
var operators = map[string]operator{
	// Tensors that a model states, and copies.
	"Identity": {"a", 2, func(c *call) error { return c.give(c.in[0], nil) }},
	"Dropout":  {"f|fb", 2, func(c *call) error { return c.give(c.in[0], nil) }},
	"Constant": {"", 2, constant}, "ConstantOfShape": {"i", 2, constantOfShape}, "Range": {"nnn", 2, numbers},
	"Cast": {"a", 2, cast}, "CastLike": {"aa", 2, castLike},

	// Two tensors, element by element, or three.
	"Add": arithmetic(func(x, y float32) float32 { return x + y }, func(x, y int64) int64 { return x + y }),
	"Sub": arithmetic(func(x, y float32) float32 { return x - y }, func(x, y int64) int64 { return x - y }),
	"Mul": arithmetic(multiplied, func(x, y int64) int64 { return x * y }),
	"Div": {"nn", 2, divide}, "Mod": {"ii", 24, modulo}, "Pow": {"fn", 2, power}, "PRelu": {"ff", 2, prelu},
	"Max": arithmetic(larger, func(x, y int64) int64 { return max(x, y) }),
	"Min": arithmetic(smaller, func(x, y int64) int64 { return min(x, y) }), "Clip": {"n|nn", 2, clip},
	"Equal":          comparison("aa", func(x, y float32) bool { return x == y }, func(x, y int64) bool { return x == y }),
	"Greater":        comparison("nn", func(x, y float32) bool { return x > y }, func(x, y int64) bool { return x > y }),
	"Less":           comparison("nn", func(x, y float32) bool { return x < y }, func(x, y int64) bool { return x < y }),
	"GreaterOrEqual": comparison("nn", func(x, y float32) bool { return x >= y }, func(x, y int64) bool { return x >= y }),
	"LessOrEqual":    comparison("nn", func(x, y float32) bool { return x <= y }, func(x, y int64) bool { return x <= y }),
	"And":            comparison("bb", nil, func(x, y int64) bool { return x&y != 0 }),
	"Or":             comparison("bb", nil, func(x, y int64) bool { return x|y != 0 }),
	"Where":          {"baa", 2, where},

	// One tensor, element by element: functions of floats with the attributes alpha and beta or gamma, and others.
	"Relu":        function(2, 0, 0, func(x, _, _ float64) float64 { return math.Max(x, 0) }),
	"Sigmoid":     function(12, 0, 0, func(x, _, _ float64) float64 { return float64(kernel.Sigmoid(float32(x))) }),
	"Exp":         function(8, 0, 0, func(x, _, _ float64) float64 { return float64(kernel.Exp(float32(x))) }),
	"Tanh":        function(24, 0, 0, func(x, _, _ float64) float64 { return math.Tanh(x) }),
	"Log":         function(24, 0, 0, func(x, _, _ float64) float64 { return math.Log(x) }),
	"Sqrt":        function(4, 0, 0, func(x, _, _ float64) float64 { return math.Sqrt(x) }),
	"Erf":         function(32, 0, 0, func(x, _, _ float64) float64 { return math.Erf(x) }),
	"Sin":         function(64, 0, 0, func(x, _, _ float64) float64 { return math.Sin(x) }),
	"Cos":         function(64, 0, 0, func(x, _, _ float64) float64 { return math.Cos(x) }),
	"Reciprocal":  function(2, 0, 0, func(x, _, _ float64) float64 { return 1 / x }),
	"Softplus":    function(48, 0, 0, func(x, _, _ float64) float64 { return softplus(x) }),
	"Mish":        function(80, 0, 0, func(x, _, _ float64) float64 { return x * math.Tanh(softplus(x)) }),
	"Softsign":    function(8, 0, 0, func(x, _, _ float64) float64 { return x / (1 + math.Abs(x)) }),
	"HardSwish":   function(12, 1.0/6, 0.5, func(x, a, b float64) float64 { return x * math.Max(0, math.Min(1, a*x+b)) }),
	"HardSigmoid": function(12, 0.2, 0.5, func(x, a, b float64) float64 { return math.Max(0, math.Min(1, a*x+b)) }),
	"LeakyRelu":   function(4, 0.01, 0, func(x, a, _ float64) float64 { return math.Max(0, x) + a*math.Min(0, x) }),
	"Elu":         function(32, 1, 0, func(x, a, _ float64) float64 { return elu(x, a) }),
	"Celu":        function(64, 1, 0, func(x, a, _ float64) float64 { return elu(x/a, 1) * a }),
	"Selu":        function(32, 1.67326319217681885, 1.05070102214813232, func(x, a, b float64) float64 { return b * elu(x, a) }),
	"Gelu":        {"f", 40, gelu}, "Sign": {"f", 2, sign}, "IsNaN": {"f", 2, isNaN}, "Not": {"b", 2, not}, "Neg": {"n", 2, negate},
	"Abs": {"n", 2, absolute},

	// The same elements in another order or shape, or some of them.
	"Shape": {"a", 2, shapeOf}, "Reshape": {"ai", 2, reshape}, "Flatten": {"a", 2, flatten}, "Squeeze": {"a|i", 2, squeeze},
	"Unsqueeze": {"a|i", 2, unsqueeze}, "Transpose": {"a", 8, transpose}, "Expand": {"ai", 2, expand}, "Tile": {"ai", 8, tile},
	"Concat": {"a*", 2, concat}, "Split": {"a|i", 2, split}, "Slice": {"aii|ii", 2, slice}, "Trilu": {"a|i", 8, triangle},
	"Gather": {"ai", 16, gather}, "GatherElements": {"ai", 32, gatherElements},

	// Sums of products, and what is computed along a dimension.
	"MatMul": {"ff", 2, matMul}, "Gemm": {"ff|f", 2, gemm}, "Einsum": {"f|f", 2, einsum},
	"Softmax": {"f", 16, softmax}, "LogSoftmax": {"f", 16, logSoftmax},
	"LayerNormalization": {"ff|f", 12, layerNorm}, "BatchNormalization": {"fffff", 24, batchNorm},
	"ReduceSum":  sum("n|i", nil),
	"ReduceMean": sum("f|i", func(sum, n float64) float64 { return sum / n }),
	"ReduceL2": reduction{"f|i", 0, func(sum, x float64) float64 { return sum + x*x }, nil,
		func(sum, _ float64) float64 { return math.Sqrt(sum) }}.operator(),
	"ReduceMax": reduction{"n|i", math.Inf(-1), math.Max, func(x, y int64) int64 { return max(x, y) }, nil}.operator(),
	"ReduceMin": reduction{"n|i", math.Inf(1), math.Min, func(x, y int64) int64 { return min(x, y) }, nil}.operator(),
}
