package kernel

import (
	"math"
	"slices"
	"unsafe"
)

// gemmLanes is Gemm in single precision without transposition, for k > 0. It sums in gonum's order, and differs from gonum in two
// ways: it also multiplies by zeros, so that infinities and NaN stay, and the sum of -0 and 0 is 0.
func gemmLanes[T Float](dst Matrix[T], alpha T, a, b Matrix[T], beta T) {
	x, y := single(a.Data), single(b.Data)
	rows, n, k := dst.Rows, dst.Cols, a.Cols
	_, _ = x[(rows-1)*a.Stride+k-1], y[(k-1)*b.Stride+n-1] // checks bounds, because the assembly does not
	z := single(dst.Data)[:(rows-1)*dst.Stride+n]
	j := 0
	for ; j+32 <= n; j += 32 {
		multiply32(&z[j], &x[0], &y[j], rows, k, dst.Stride, a.Stride, b.Stride, float32(alpha), float32(beta))
	}
	for ; j < n; j += 8 {
		mask := (*[8]int32)(columns[8-min(8, n-j):])
		multiply8(&z[j], &x[0], &y[j], rows, k, dst.Stride, a.Stride, b.Stride, float32(alpha), float32(beta), mask)
	}
}

// columns contains 8 ones (all bits set) and then 8 zeros, so that a part of it is the mask for any number of columns up to 8.
var columns = [16]int32{-1, -1, -1, -1, -1, -1, -1, -1}

// softmaxRows computes softmax in single precision for all rows of x. The parameter cols is the length of a row; all columns are
// valid.
func softmaxRows(x []float32, cols int) {
	var sums [4]float32 // sums 4 rows at once: the additions of one row wait for each other
	for len(x) > 0 {
		n := min(len(sums), len(x)/cols)
		for i := range n {
			exponentialRow(x[i*cols:][:cols])
		}
		if n == len(sums) {
			sums = sum4(x[:cols], x[cols:][:cols], x[2*cols:][:cols], x[3*cols:][:cols])
		} else {
			for i := range n {
				sums[i] = 0
				for _, v := range x[i*cols:][:cols] {
					sums[i] += v
				}
			}
		}
		for i, sum := range sums[:n] {
			scaleRow(x[i*cols:][:cols], 1/sum)
		}
		x = x[n*cols:]
	}
}

func sum4(a, b, c, d []float32) (sums [4]float32) {
	var s0, s1, s2, s3 float32
	b, c, d = b[:len(a)], c[:len(a)], d[:len(a)]
	for i, v := range a {
		s0 += v
		s1 += b[i]
		s2 += c[i]
		s3 += d[i]
	}
	return [4]float32{s0, s1, s2, s3}
}

// exponentialRow replaces each element x by e**(x-top), where top is the largest element.
func exponentialRow(x []float32) {
	top, even := float32(math.Inf(-1)), len(x)&^7
	if even > 0 {
		top = largest8(&x[0], even)
	}
	for _, v := range x[even:] {
		if v > top {
			top = v
		}
	}
	if even > 0 {
		exponentials8(&x[0], even, top, &expConstants)
	}
	exponentials(x[even:], top)
}

func scaleRow(x []float32, by float32) {
	even := len(x) &^ 7
	if even > 0 {
		scale8(&x[0], even, by)
	}
	for i := range x[even:] {
		x[even+i] *= by
	}
}

// expConstants are the constants of expNear in the order in which exponentials8 reads them.
var expConstants = [13]float32{
	tooSmall, log2e, round, ln2High, ln2Low, e7, e6, e5, e4, e3, e2, 1, math.Float32frombits(bias),
}

// fast reports whether softmaxRows can replace softmax for this mask.
func fast[T Float](mask []T) bool {
	return lanes && unsafe.Sizeof(T(0)) == 4 && len(mask) > 0 && !slices.Contains(mask, 0)
}
