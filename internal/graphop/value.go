package graphop

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/internal/kernel"
)

// Input returns a node whose value the caller writes, see Values. The value begins as zeros.
func Input[T kernel.Float](g *G.ExprGraph, name string, shape ...int) *G.Node {
	value := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(make([]T, tensor.Shape(shape).TotalSize())))
	return G.NewTensor(g, value.Dtype(), len(shape), G.WithShape(shape...), G.WithName(name), G.WithValue(value))
}

// Values returns the numbers of a node's value. They belong to the node.
func Values[T kernel.Float](n *G.Node) []T { return n.Value().Data().([]T) }

// Convert copies numbers to the beginning of dst.
func Convert[T kernel.Float](dst []T, src []float32) {
	for i, v := range src {
		dst[i] = T(v)
	}
}

// TakeGradient copies the gradient of a node to the beginning of dst and returns how many numbers it has. It sets the node's
// gradient to zero, because Gorgonia adds that of the next run to it.
func TakeGradient[T kernel.Float](dst []T, n *G.Node) (int, error) {
	g, err := n.Grad()
	if err != nil {
		return 0, fmt.Errorf("read gradient of %s: %w", n.Name(), err)
	}
	d := g.Data().([]T)
	count := copy(dst, d)
	clear(d)
	return count, nil
}

// RunBack runs a machine anew and writes the gradients of the nodes to dst, one after another; see TakeGradient.
func RunBack[T kernel.Float](vm G.VM, nodes []*G.Node, dst []T) error {
	vm.Reset()
	if err := vm.RunAll(); err != nil {
		return err
	}
	for _, n := range nodes {
		count, err := TakeGradient(dst, n)
		if err != nil {
			return err
		}
		dst = dst[count:]
	}
	return nil
}
