package kernel

import (
	"math"
	"unsafe"
)

// Softmax replaces each row of x [rows,len(mask)] by its softmax over the valid columns. The mask is 1 for valid columns and 0
// for padding. Padding becomes exactly 0. If no column is valid, the whole row becomes 0.
func Softmax[T Float](x, mask []T) {
	cols := len(mask)
	if fast(mask) {
		softmaxRows(single(x), cols)
		return
	}
	for ; cols > 0 && len(x) > 0; x = x[cols:] {
		softmax(x[:cols], mask)
	}
}

// softmax is Softmax of one row. It subtracts the largest valid score first.
func softmax[T Float](x, mask []T) {
	mask = mask[:len(x)]
	least := T(math.Inf(-1))
	top, valid := least, false
	for j, v := range x {
		switch {
		case mask[j] == 0:
			x[j] = least
			continue
		case v > top:
			top = v
		}
		valid = true
	}
	if !valid {
		clear(x)
		return
	}
	scale := 1 / exponentials(x, top)
	for j := range x {
		x[j] *= scale
	}
}

// exponentials replaces each element x by e**(x-top), where top is the largest element, and returns the sum.
func exponentials[T Float](x []T, top T) (sum T) {
	if unsafe.Sizeof(top) != 4 {
		for j, v := range x {
			x[j] = Exp(v - top)
			sum += x[j]
		}
		return sum
	}
	for j, v := range single(x) {
		var e float32
		if v -= float32(top); !(v < tooSmall) {
			e = expNear(v)
		}
		x[j] = T(e)
		sum += T(e)
	}
	return sum
}

// SoftmaxBack replaces g, the gradient of one row of probabilities p, by the gradient of the scores.
func SoftmaxBack[T Float](g, p []T) {
	mean := dot(g, p)
	p = p[:len(g)]
	for j, v := range g {
		g[j] = p[j] * (v - mean)
	}
}
