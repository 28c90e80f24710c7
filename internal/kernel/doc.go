// Package kernel holds what the kernels of networks are made of, for training and serving alike: matrix products, dense layers,
// layer normalisation, softmax and a few functions of numbers and vectors. Packages attention and coordgraph add their own
// kernels to these, by the rules that follow.
//
// Every kernel is generic over float32 (production) and float64 (gradient checks), writes to the slice that comes first, and
// allocates nothing once its scratch has grown. Tensors are dense, row-major slices; a shape such as [B*n,d] in a comment
// means B*n rows of d values. Results overwrite: a gradient is stored, not added. A gradient destination may be nil, then it
// is not computed. Destinations must not overlap inputs unless the comment says so.
//
// Masks hold 1 for what counts and 0 for padding. A group without anything valid gives zeros and zero gradients, never NaN.
//
// Sums run in an order that depends on shapes alone, so the same input gives the same bytes. Shapes that do not fit are a
// programmer's mistake and panic with the prefix "kernel: ".
package kernel

import (
	"fmt"
	"slices"
)

// Float is the element type of every kernel.
type Float interface{ ~float32 | ~float64 }

// Want panics unless the slice called name has n elements.
func Want[T Float](name string, x []T, n int) {
	if len(x) != n {
		panic(fmt.Sprintf("kernel: %s has %d elements, want %d", name, len(x), n))
	}
}

// WantOrNil is Want for an optional destination.
func WantOrNil[T Float](name string, x []T, n int) {
	if x != nil {
		Want(name, x, n)
	}
}

// RowsOf returns how many rows of the given width x holds, and panics if it holds a part of one.
func RowsOf[T Float](name string, x []T, width int) int {
	if width <= 0 || len(x)%width != 0 {
		panic(fmt.Sprintf("kernel: %s has %d elements, want whole rows of %d", name, len(x), width))
	}
	return len(x) / width
}

// Grow returns a slice of n elements, reusing the memory of buf where it suffices. Its content is undefined.
func Grow[T Float](buf []T, n int) []T {
	return slices.Grow(buf[:0], n)[:n]
}

// dot sums x[i]*y[i] in index order.
func dot[T Float](x, y []T) T {
	var s T
	y = y[:len(x)]
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// Axpy adds alpha*x to y, which may be shorter than x.
func Axpy[T Float](y []T, alpha T, x []T) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] += alpha * v
	}
}
