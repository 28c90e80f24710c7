// Package kernel contains the building blocks of neural networks, for training and serving alike: matrix products, dense layers,
// layer normalisation, softmax and a few functions of numbers and vectors. The packages attention and coordgraph add kernels of
// their own, under the same rules.
//
// Every kernel is generic over float32 (production) and float64 (gradient checks), writes to its first slice, and allocates
// nothing once its scratch memory has grown. Tensors are dense, row-major slices; a shape such as [B*n,d] in a comment means B*n
// rows of d values. Kernels overwrite their results: they store a gradient and do not add to it. If a gradient destination is
// nil, the kernel does not compute that gradient. Destinations must not overlap inputs unless the comment allows it.
//
// Masks contain 1 for valid elements and 0 for padding. A group without a valid element gives zeros and zero gradients, never
// NaN.
//
// The order of a sum depends on the shapes alone, so equal inputs give equal bytes. Shapes that do not fit are a programming
// error: the kernel panics with the prefix "kernel: ".
package kernel

import (
	"fmt"
	"slices"
)

// Float is the element type of every kernel.
type Float interface{ ~float32 | ~float64 }

// Want panics unless x has n elements. The parameter name is the name of x in the panic's message.
func Want[T Float](name string, x []T, n int) {
	if len(x) != n {
		panic(fmt.Sprintf("kernel: %s has %d elements, want %d", name, len(x), n))
	}
}

// WantOrNil is Want for an optional slice: it accepts nil.
func WantOrNil[T Float](name string, x []T, n int) {
	if x != nil {
		Want(name, x, n)
	}
}

// RowsOf returns the number of rows of the given width in x. It panics if len(x) is not a multiple of width.
func RowsOf[T Float](name string, x []T, width int) int {
	if width <= 0 || len(x)%width != 0 {
		panic(fmt.Sprintf("kernel: %s has %d elements, want whole rows of %d", name, len(x), width))
	}
	return len(x) / width
}

// Grow returns a slice of n elements with undefined content. It reuses the memory of buf if that is large enough.
func Grow[T Float](buf []T, n int) []T {
	return slices.Grow(buf[:0], n)[:n]
}

// eight contains partial sums of a row: the sum of every eighth element, from the first, the second and so on. So the sums do not
// wait for each other, and lanes add in the same order as plain loops.
type eight[T Float] [8]T

func (s *eight[T]) total() T {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// Axpy adds alpha*x to y. It ignores the elements of x beyond the length of y.
func Axpy[T Float](y []T, alpha T, x []T) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] += alpha * v
	}
}
