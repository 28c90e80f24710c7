package kernel

import (
	"math"
	"unsafe"
)

// Softmax replaces each row of x [rows,len(mask)] by its softmax over the valid columns. The mask is 1 for valid columns and 0
// for padding. Padding becomes exactly 0. If no column is valid, the whole row becomes 0.
func Softmax[T Float](x, mask []T) {
	cols := len(mask)
	if cols == 0 || len(x) == 0 {
		return
	}
	rows := RowsOf("softmax input", x, cols)
	valid := 0
	for j, m := range mask {
		if m != 0 {
			valid++
			continue
		}
		for at := j; at < len(x); at += cols {
			x[at] = T(math.Inf(-1))
		}
	}
	switch {
	case valid == 0:
		clear(x)
	case fast[T]():
		softmax8(&single(x)[0], rows, cols, first(cols%8), &expConstants)
	default:
		for ; len(x) > 0; x = x[cols:] {
			softmax(x[:cols])
		}
	}
}

// softmax is Softmax of one row. It subtracts the largest score first.
func softmax[T Float](x []T) {
	top := T(math.Inf(-1))
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	var sums eight[T]
	for j, v := range x {
		x[j] = exponential(v - top)
		sums[j%8] += x[j]
	}
	scale := 1 / sums.total()
	for j := range x {
		x[j] *= scale
	}
}

// exponential returns e**x for an x of at most 0, or NaN.
func exponential[T Float](x T) T {
	switch {
	case unsafe.Sizeof(x) != 4:
		return T(math.Exp(float64(x)))
	case x < tooSmall:
		return 0
	}
	return T(expNear(float32(x)))
}

// SoftmaxBack replaces g, the gradient of rows of cols probabilities p each, by the gradient of the scores.
func SoftmaxBack[T Float](g, p []T, cols int) {
	Want("probabilities", p, len(g))
	if len(g) == 0 {
		return
	}
	rows := RowsOf("softmax gradient", g, cols)
	if fast[T]() {
		softmaxBack8(&single(g)[0], &single(p)[0], rows, cols, first(cols%8))
		return
	}
	for ; len(g) > 0; g, p = g[cols:], p[cols:] {
		var sums eight[T]
		for j, v := range g[:cols] {
			sums[j%8] += v * p[j]
		}
		mean := sums.total()
		for j, v := range g[:cols] {
			g[j] = p[j] * (v - mean)
		}
	}
}
