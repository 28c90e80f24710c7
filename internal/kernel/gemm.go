package kernel

import (
	"fmt"
	"sync"
	"unsafe"
)

// Matrix is a view of a row-major matrix inside a slice that the caller owns.
type Matrix[T Float] struct {
	Data       []T
	Rows, Cols int // logical shape, after any transposition
	Stride     int // distance between rows as stored
	trans      bool
}

// Mat returns data as a matrix of rows x cols, without a copy.
func Mat[T Float](data []T, rows, cols int) Matrix[T] {
	Want("matrix", data, rows*cols)
	return Matrix[T]{Data: data, Rows: rows, Cols: cols, Stride: cols}
}

// Columns returns a view of cols columns, starting at column from. The matrix must not be transposed.
func (m Matrix[T]) Columns(from, cols int) Matrix[T] {
	if m.trans || from < 0 || from+cols > m.Cols {
		panic(fmt.Sprintf("kernel: cut columns %d..%d of a matrix with %d", from, from+cols, m.Cols))
	}
	if m.Rows > 0 {
		m.Data = m.Data[from:]
	}
	m.Cols = cols
	return m
}

// T returns a transposed view of the matrix.
func (m Matrix[T]) T() Matrix[T] {
	m.Rows, m.Cols, m.trans = m.Cols, m.Rows, !m.trans
	return m
}

// blasBlock and parallelBlocks are constants of gonum: a product of at least parallelBlocks blocks of blasBlock x blasBlock
// starts goroutines, which allocates memory.
const blasBlock = 64

// Gemm computes dst = alpha*a*b + beta*dst. dst must not be transposed and must not overlap a or b. Each element starts at
// beta*dst, and then the terms (alpha*a)*b are added in index order, each rounded. Lanes, plain loops and gonum all do that, so
// they give the same bits. Two builds differ in the last bits: where Go fuses products and sums, which it does on arm64 and with
// GOAMD64=v3 or higher, and with OpenBLAS (build tag openblas, which needs cgo).
//
// Gemm splits large products into tiles that are small enough that gonum stays on the calling goroutine. So a decision allocates
// nothing; training spreads whole batches over the cores instead.
func Gemm[T Float](dst Matrix[T], alpha T, a, b Matrix[T], beta T) {
	m, n, k := dst.Rows, dst.Cols, a.Cols
	if dst.trans || a.Rows != m || b.Cols != n || b.Rows != k {
		panic(fmt.Sprintf("kernel: multiply [%d,%d] by [%d,%d] into [%d,%d]", a.Rows, a.Cols, b.Rows, b.Cols, m, n))
	}
	if m == 0 || n == 0 {
		return
	}
	switch {
	case k == 0: // BLAS needs non-empty rows
		for i := range m {
			for j, v := range dst.Data[i*dst.Stride:][:n] {
				dst.Data[i*dst.Stride+j] = keep(v, beta)
			}
		}
	case !ownLoops:
		gemmBLAS(dst, alpha, a, b, beta)
	case fast[T]():
		gemmLanes(dst, alpha, a, b, beta)
	case b.trans: // the order of the sums in BLAS would depend on memory addresses
		gemmUpright(dst, alpha, a, b, beta)
	case n <= narrow:
		gemmNarrow(dst, alpha, a, b, beta)
	default:
		gemmBLAS(dst, alpha, a, b, beta)
	}
}

// gemmBLAS is Gemm with the registered BLAS.
func gemmBLAS[T Float](dst Matrix[T], alpha T, a, b Matrix[T], beta T) {
	m, n, k := dst.Rows, dst.Cols, a.Cols
	wide := min(n, (parallelBlocks-1)*blasBlock)
	tall := (parallelBlocks - 1) / ((wide + blasBlock - 1) / blasBlock) * blasBlock
	for j := 0; j < n; j += wide {
		for i := 0; i < m; i += tall {
			rows, cols := min(tall, m-i), min(wide, n-j)
			gemmTile(dst.Data[i*dst.Stride+j:], dst.Stride, alpha, a.from(i), a, b.T().from(j), b, beta, rows, cols, k)
		}
	}
}

// gemmUpright is Gemm for a transposed b, which it copies so that the rows become contiguous.
func gemmUpright[T Float](dst Matrix[T], alpha T, a, b Matrix[T], beta T) {
	buf, ok := copies.Get().(*[]T)
	if !ok {
		buf = new([]T)
	}
	*buf = Grow(*buf, b.Rows*b.Cols)
	for j := range b.Cols {
		at := j
		for _, v := range b.Data[j*b.Stride:][:b.Rows] {
			(*buf)[at] = v
			at += b.Cols
		}
	}
	Gemm(dst, alpha, a, Mat(*buf, b.Rows, b.Cols), beta)
	copies.Put(buf)
}

// copies contains the memory of gemmUpright.
var copies sync.Pool

// from returns the stored elements of the matrix from row i on.
func (m Matrix[T]) from(i int) []T {
	switch {
	case m.Cols == 0:
		return m.Data
	case m.trans:
		return m.Data[i:]
	}
	return m.Data[i*m.Stride:]
}

// index returns the place of an element in the matrix's data.
func (m Matrix[T]) index(i, j int) int {
	if m.trans {
		i, j = j, i
	}
	return i*m.Stride + j
}

// single returns x as a slice of float32. The caller has checked the element size, because a type switch would miss named types.
func single[T Float](x []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
