package attention

import (
	"math"

	"github.com/clustergym/clustergym/internal/kernel"
)

// Masked is the log-probability of an illegal entry. It is finite, so that its product with a zero probability is zero, and far
// below any legal log-probability.
const Masked = -1e9

// MaskedLogSoftmax computes, for each row of logits [rows,width], the log-probabilities of a softmax over its legal entries. mask
// [rows,width] is 1 for a legal entry. Illegal entries get Masked, and so do all entries of a row without a legal one. dst may be
// the same slice as logits.
func MaskedLogSoftmax[T kernel.Float](dst, logits, mask []T, width int) {
	rows := kernel.RowsOf("log softmax input", logits, width)
	kernel.Want("log softmax mask", mask, len(logits))
	kernel.Want("log softmax output", dst, len(logits))
	for r := range rows {
		x, m, y := logits[r*width:(r+1)*width], mask[r*width:(r+1)*width], dst[r*width:(r+1)*width]
		top := T(math.Inf(-1))
		for j, v := range x {
			if m[j] != 0 && v > top {
				top = v
			}
		}
		var sum float64
		for j, v := range x {
			if m[j] != 0 {
				sum += float64(kernel.Exp(v - top))
			}
		}
		log := T(math.Log(sum))
		for j, v := range x {
			if m[j] != 0 {
				y[j] = v - top - log
			} else {
				y[j] = Masked
			}
		}
	}
}

// MaskedLogSoftmaxBack computes the gradient dx of the logits from the output y of MaskedLogSoftmax and its gradient dy: dx = dy
// - exp(y) * (sum of dy over the legal entries), and 0 for illegal entries. dx may be the same slice as dy.
func MaskedLogSoftmaxBack[T kernel.Float](dx, dy, y, mask []T, width int) {
	rows := kernel.RowsOf("log softmax gradient", dy, width)
	kernel.Want("log softmax output", y, len(dy))
	kernel.Want("log softmax mask", mask, len(dy))
	kernel.Want("log softmax input gradient", dx, len(dy))
	for r := range rows {
		g, p, m, d := dy[r*width:(r+1)*width], y[r*width:(r+1)*width], mask[r*width:(r+1)*width], dx[r*width:(r+1)*width]
		var sum T
		for j, v := range g {
			if m[j] != 0 {
				sum += v
			}
		}
		for j, v := range g {
			if m[j] != 0 {
				d[j] = v - kernel.Exp(p[j])*sum
			} else {
				d[j] = 0
			}
		}
	}
}
