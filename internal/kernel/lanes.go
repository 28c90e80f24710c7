package kernel

import (
	"math"
	"unsafe"
)

// depth is the number of terms that a product adds in one go, so that the part of b that it reads stays in the cache.
const depth = 256

// gemmLanes is Gemm in single precision for k > 0. It differs from gonum in two ways: it also multiplies by zeros, so that
// infinities and NaN stay, and the sum of -0 and 0 is 0.
func gemmLanes[T Float](dst Matrix[T], alpha T, a, b Matrix[T], beta T) {
	p := lanesProduct{
		dst: single(dst.Data)[:(dst.Rows-1)*dst.Stride+dst.Cols], ldd: dst.Stride, rows: dst.Rows,
		nextRow: a.Stride, nextTerm: 1, alpha: float32(alpha), beta: float32(keep(1, beta)),
	}
	if a.trans {
		p.nextRow, p.nextTerm = 1, a.Stride
	}
	x, y, k := single(a.Data), single(b.Data), a.Cols
	_, _ = x[a.index(dst.Rows-1, k-1)], y[b.index(k-1, dst.Cols-1)] // checks bounds, because the assembly does not
	for l := 0; l < k; l += depth {
		p.x, p.k = &x[l*p.nextTerm], min(depth, k-l)
		if b.trans {
			p.upright(y[l:], b.Stride, dst.Cols)
		} else {
			p.columns(0, y[l*b.Stride:], b.Stride, dst.Cols)
		}
		p.beta = 1
	}
}

// lanesProduct is what the parts of a product have in common: see multiply16.
type lanesProduct struct {
	dst                             []float32
	x                               *float32
	rows, k, ldd, nextRow, nextTerm int
	alpha, beta                     float32
}

// columns computes n columns of the product, from column j of dst on; w starts at the same column of b.
func (p *lanesProduct) columns(j int, w []float32, ldw, n int) {
	at := 0
	for ; at+16 <= n; at += 16 {
		multiply16(&p.dst[j+at], p.x, &w[at], p.rows, p.k, p.ldd, p.nextRow, p.nextTerm, ldw, p.alpha, p.beta)
	}
	for ; at < n; at += 8 {
		multiply8(&p.dst[j+at], p.x, &w[at], p.rows, p.k, p.ldd, p.nextRow, p.nextTerm, ldw, p.alpha, p.beta, first(n-at))
	}
}

// upright computes all n columns of the product with a transposed b, of which it copies 16 columns at a time.
func (p *lanesProduct) upright(w []float32, ldw, n int) {
	var panel [depth * 16]float32
	for j := 0; j < n; j += 16 {
		cols := min(16, n-j)
		for c := range cols {
			for l, v := range w[(j+c)*ldw:][:p.k] {
				panel[l*16+c] = v
			}
		}
		p.columns(j, panel[:], 16, cols)
	}
}

// ones contains 8 ones (all bits set) and then 8 zeros.
var ones = [16]int32{-1, -1, -1, -1, -1, -1, -1, -1}

// first returns a mask of eight lanes of which the first n have all bits set; a larger n means 8.
func first(n int) *[8]int32 { return (*[8]int32)(ones[8-min(8, n):]) }

// expConstants are the constants of expNear and the negative infinity, each eight times, in the order in which softmax8 reads
// them.
var expConstants = func() (table [14][8]float32) {
	for i, v := range []float32{
		tooSmall, log2e, round, ln2High, ln2Low, e7, e6, e5, e4, e3, e2, 1, math.Float32frombits(bias), float32(math.Inf(-1)),
	} {
		for j := range table[i] {
			table[i][j] = v
		}
	}
	return table
}()

// fast reports whether T has single precision and the processor has lanes.
func fast[T Float]() bool { return lanes && unsafe.Sizeof(T(0)) == 4 }
