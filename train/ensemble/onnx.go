package ensemble

import (
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/internal/onnx"
)

// Model builds an ONNX model of the members of a network.
type Model struct{ onnx.Graph }

// Scaled returns rows of inputs x as belief.Scaling.Apply scales them. The name tells the constants of several inputs apart.
func (g *Model) Scaled(name, x string, s belief.Scaling) string {
	n := len(s.Mean)
	low, high := g.number(name+" least", -4), g.number(name+" most", 4)
	y := g.Op("Sub", x, g.Floats(name+" mean", s.Mean, 1, n))
	y = g.Op("Clip", g.Op("Div", y, g.Floats(name+" scale", s.Scale, 1, n)), low, high)
	return g.Op("Where", g.Op("IsNaN", x), g.number(name+" unknown", 0), y)
}

// number returns a constant without dimensions.
func (g *Model) number(name string, x float32) string { return g.Floats(name, []float32{x}) }

// Dense returns x*w + b, w [in,out], and 0 in place of what is below 0 if relu is true.
func (g *Model) Dense(name, x string, w, b []float32, relu bool) string {
	out := len(b)
	y := g.Op("Gemm", x, g.Floats(name+".w", w, len(w)/out, out), g.Floats(name+".b", b, out))
	if relu {
		y = g.Op("Relu", y)
	}
	return y
}

// Op adds an operator with one output and without attributes.
func (g *Model) Op(name string, inputs ...string) string { return g.Node(name, inputs) }

// Join returns values side by side (along 1) or one below another (along 0).
func (g *Model) Join(along int, values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return g.Node("Concat", values, onnx.IntAttr("axis", along))
}

// Sum returns the sum of the rows of x [n,width], which may have no rows, as [1,width]. It adds a row of zeros first, because
// runtimes fail on tables without rows.
func (g *Model) Sum(name, x string, width int) string {
	padded := g.Join(0, []string{x, g.Floats(name+" no row", make([]float32, width), 1, width)})
	return g.Op("ReduceSum", padded, g.Ints(name+" rows", []int64{0}, 1))
}
