// Package graph adds dense layers, layer normalisation and the kernels of package attention to a Gorgonia graph, each as one
// differentiable operation. A graph built from them computes exactly what the kernels compute without Gorgonia.
//
// All nodes of an operation share one element type, float32 or float64. Shapes are fixed when a node is built; building returns
// an error if a shape does not fit. Masks are data of ones and zeros without gradients: asking Gorgonia for the gradient of a
// mask fails.
package graph

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Activation is the nonlinearity of a dense layer.
type Activation = kernel.Activation

// The activations.
const (
	None = kernel.None
	ReLU = kernel.ReLU
)

// wantShape checks the shape of the named input.
func wantShape(op, name string, n *G.Node, dims ...int) error {
	if !n.Shape().Eq(tensor.Shape(dims)) {
		return fmt.Errorf("build %s: %s %q has shape %v, want %v", op, name, n.Name(), n.Shape(), dims)
	}
	return nil
}

// wantMatrix checks that the named input has two dimensions and that its number of rows is a multiple of groups.
func wantMatrix(op, name string, n *G.Node, groups int) error {
	if n.Dims() != 2 || groups <= 0 || n.Shape()[0]%groups != 0 {
		return fmt.Errorf("build %s: %s %q has shape %v, want a matrix with rows in %d equal groups",
			op, name, n.Name(), n.Shape(), groups)
	}
	return nil
}

// wantMask checks the number of elements of a mask, which may have any dimensions.
func wantMask(op string, n *G.Node, size int) error {
	if n.Shape().TotalSize() != size {
		return fmt.Errorf("build %s: mask %q has shape %v, want %d elements", op, n.Name(), n.Shape(), size)
	}
	return nil
}

// Dense adds the layer act(x*w + b) for x [rows,in], w [in,out] and b [out]. The result is [rows,out].
func Dense(x, w, b *G.Node, act Activation) (*G.Node, error) {
	if err := wantMatrix("dense", "input", x, 1); err != nil {
		return nil, err
	}
	if err := wantMatrix("dense", "weight", w, 1); err != nil {
		return nil, err
	}
	in, out := x.Shape()[1], w.Shape()[1]
	if err := wantShape("dense", "weight", w, in, out); err != nil {
		return nil, err
	}
	if err := wantShape("dense", "bias", b, out); err != nil {
		return nil, err
	}
	grad := func(n G.Nodes, y, dy *G.Node) (G.Nodes, error) {
		x, w, b := n[0], n[1], n[2]
		dz, err := beforeActivation(y, dy, act)
		if err != nil {
			return nil, err
		}
		dx, err := graphop.Like("attention.denseInputGrad", nil, x, denseDX[float32](in, out), denseDX[float64](in, out), dz, w)
		if err != nil {
			return nil, err
		}
		dw, err := graphop.Like("attention.denseWeightGrad", nil, w, denseDW[float32](in, out), denseDW[float64](in, out), dz, x)
		if err != nil {
			return nil, err
		}
		db, err := graphop.Like("attention.sumRows", nil, b, sumRows[float32], sumRows[float64], dz)
		return G.Nodes{dx, dw, db}, err
	}
	return graphop.Apply("attention.dense", act, tensor.Shape{x.Shape()[0], out}, dense[float32](in, out, act),
		dense[float64](in, out, act), grad, []bool{true, true, true}, x, w, b)
}

// beforeActivation adds the gradient of the input of the activation, for a layer with output y and output gradient dy.
func beforeActivation(y, dy *G.Node, act Activation) (*G.Node, error) {
	if act == None {
		return dy, nil
	}
	return graphop.Like("attention.activationGrad", act, y, activateBack[float32](act), activateBack[float64](act), dy, y)
}

func dense[T kernel.Float](in, out int, act Activation) graphop.Body[T] {
	return func(y []T, n [][]T) { kernel.Dense(y, n[0], n[1], n[2], in, out, act) }
}

func denseDX[T kernel.Float](in, out int) graphop.Body[T] {
	return func(dx []T, n [][]T) { kernel.DenseBack(dx, nil, nil, n[0], nil, n[1], in, out) }
}

func denseDW[T kernel.Float](in, out int) graphop.Body[T] {
	return func(dw []T, n [][]T) { kernel.DenseBack(nil, dw, nil, n[0], n[1], nil, in, out) }
}

func sumRows[T kernel.Float](db []T, n [][]T) { kernel.SumRows(db, n[0]) }

func activateBack[T kernel.Float](act Activation) graphop.Body[T] {
	return func(dz []T, n [][]T) { kernel.ActivateBack(dz, n[0], n[1], act) }
}

// LayerNorm adds the layer normalisation of the rows of x [rows,d] with gain [d] and bias [d].
func LayerNorm(x, gain, bias *G.Node) (*G.Node, error) {
	if err := wantMatrix("layer norm", "input", x, 1); err != nil {
		return nil, err
	}
	d := x.Shape()[1]
	if err := wantShape("layer norm", "gain", gain, d); err != nil {
		return nil, err
	}
	if err := wantShape("layer norm", "bias", bias, d); err != nil {
		return nil, err
	}
	grad := func(n G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		return graphop.Packed("attention.layerNormGrad", nil, n, layerNormBack[float32], layerNormBack[float64], dy, n[0], n[1])
	}
	return graphop.Apply("attention.layerNorm", nil, x.Shape().Clone(), layerNorm[float32], layerNorm[float64],
		grad, []bool{true, true, true}, x, gain, bias)
}

func layerNorm[T kernel.Float](y []T, n [][]T) { kernel.LayerNorm(y, n[0], n[1], n[2]) }

func layerNormBack[T kernel.Float](out []T, n [][]T) {
	dy, x, gain := n[0], n[1], n[2]
	dx, rest := out[:len(x)], out[len(x):]
	kernel.LayerNormBack(dx, rest[:len(gain)], rest[len(gain):], dy, x, gain)
}

// MaskedLogSoftmax adds the log-probabilities of a softmax over the legal entries of each row of logits [rows,width]. mask
// [rows,width] is 1 for a legal entry. Illegal entries get attention.Masked (-1e9) and have no gradient. A row needs at least one
// legal entry.
func MaskedLogSoftmax(logits, mask *G.Node) (*G.Node, error) {
	if err := wantMatrix("masked log softmax", "logits", logits, 1); err != nil {
		return nil, err
	}
	if err := wantMask("masked log softmax", mask, logits.Shape().TotalSize()); err != nil {
		return nil, err
	}
	width := logits.Shape()[1]
	grad := func(n G.Nodes, y, dy *G.Node) (G.Nodes, error) {
		dx, err := graphop.Like("attention.maskedLogSoftmaxGrad", nil, n[0], logSoftmaxBack[float32](width),
			logSoftmaxBack[float64](width), dy, y, n[1])
		return G.Nodes{dx, nil}, err
	}
	return graphop.Apply("attention.maskedLogSoftmax", nil, logits.Shape().Clone(), logSoftmax[float32](width),
		logSoftmax[float64](width), grad, []bool{true, false}, logits, mask)
}

func logSoftmax[T kernel.Float](width int) graphop.Body[T] {
	return func(y []T, n [][]T) { attention.MaskedLogSoftmax(y, n[0], n[1], width) }
}

func logSoftmaxBack[T kernel.Float](width int) graphop.Body[T] {
	return func(dx []T, n [][]T) { attention.MaskedLogSoftmaxBack(dx, n[0], n[1], n[2], width) }
}
