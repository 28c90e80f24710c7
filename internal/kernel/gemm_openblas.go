//go:build openblas

package kernel

/*
#cgo LDFLAGS: -lopenblas
#include <cblas.h>

// A product stays on the thread that asks for it: training spreads whole batches over the cores.
static void __attribute__((constructor)) one_thread(void) { openblas_set_num_threads(1); }
*/
import "C"

import "unsafe"

const (
	ownLoops       = false   // OpenBLAS is faster even for small products
	parallelBlocks = 1 << 20 // no tiles
)

// gemmTile computes m rows and n columns of Gemm's result with OpenBLAS. The slices dst, x and y start at the first elements to
// use.
func gemmTile[T Float](dst []T, ldd int, alpha T, x []T, a Matrix[T], y []T, b Matrix[T], beta T, m, n, k int) {
	opA, opB := uint32(C.CblasNoTrans), uint32(C.CblasNoTrans)
	if a.trans {
		opA = C.CblasTrans
	}
	if b.trans {
		opB = C.CblasTrans
	}
	M, N, K, lda, ldb, ldc := C.blasint(m), C.blasint(n), C.blasint(k), C.blasint(a.Stride), C.blasint(b.Stride), C.blasint(ldd)
	if unsafe.Sizeof(alpha) == 4 {
		C.cblas_sgemm(C.CblasRowMajor, opA, opB, M, N, K, C.float(alpha), (*C.float)(unsafe.Pointer(&x[0])), lda,
			(*C.float)(unsafe.Pointer(&y[0])), ldb, C.float(beta), (*C.float)(unsafe.Pointer(&dst[0])), ldc)
	} else {
		C.cblas_dgemm(C.CblasRowMajor, opA, opB, M, N, K, C.double(alpha), (*C.double)(unsafe.Pointer(&x[0])), lda,
			(*C.double)(unsafe.Pointer(&y[0])), ldb, C.double(beta), (*C.double)(unsafe.Pointer(&dst[0])), ldc)
	}
}
