//go:build !openblas

package kernel

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
)

const (
	ownLoops       = true // gonum is fast only for long rows
	parallelBlocks = 4    // see blasBlock
)

// gemmTile computes a tile of m rows and n columns of Gemm's result. The slice dst starts at the tile; x and y start at the
// tile's first row of a and first column of b.
func gemmTile[T Float](dst []T, ldd int, alpha T, x []T, a Matrix[T], y []T, b Matrix[T], beta T, m, n, k int) {
	opA, opB := blas.NoTrans, blas.NoTrans
	if a.trans {
		opA = blas.Trans
	}
	if b.trans {
		opB = blas.Trans
	}
	if unsafe.Sizeof(alpha) == 4 {
		blas32.Implementation().Sgemm(opA, opB, m, n, k, float32(alpha), single(x), a.Stride, single(y), b.Stride,
			float32(beta), single(dst), ldd)
	} else {
		blas64.Implementation().Dgemm(opA, opB, m, n, k, float64(alpha), double(x), a.Stride, double(y), b.Stride,
			float64(beta), double(dst), ldd)
	}
}

// double is single for double precision.
func double[T Float](x []T) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
