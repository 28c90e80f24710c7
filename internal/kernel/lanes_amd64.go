//go:build amd64 && !openblas

package kernel

import "golang.org/x/sys/cpu"

// lanes reports whether the processor can run the loops in assembly. They process eight numbers at once. Each number goes
// through the same operations in the same order as in the plain loops, so the results are equal bit for bit.
var lanes = cpu.X86.HasAVX2

// multiply16 computes 16 columns of dst = alpha*x*w + beta*dst for the given number of rows. Element l of row i of x is
// x[i*nextRow+l*nextTerm]; the distances between rows of dst and w are ldd and ldw. If beta is +0, it ignores the old content of
// dst.
//
//go:noescape
func multiply16(dst, x, w *float32, rows, k, ldd, nextRow, nextTerm, ldw int, alpha, beta float32)

// multiply8 is multiply16 for at most 8 columns: those whose number in mask has all bits set. The other numbers in mask are 0.
//
//go:noescape
func multiply8(dst, x, w *float32, rows, k, ldd, nextRow, nextTerm, ldw int, alpha, beta float32, mask *[8]int32)

// softmax8 replaces each of the rows of x by its softmax. The mask has all bits set for the last cols%8 numbers of a row.
//
//go:noescape
func softmax8(x *float32, rows, cols int, mask *[8]int32, constants *[14][8]float32)

// softmaxBack8 is SoftmaxBack; for the mask see softmax8.
//
//go:noescape
func softmaxBack8(grad, p *float32, rows, cols int, mask *[8]int32)

// layerNorm8 is LayerNorm for a width that is a multiple of 8; n is the width.
//
//go:noescape
func layerNorm8(y, x, gain, bias *float32, rows, width int, n, eps float64)

// layerNormBack8 computes dx and adds to dgain as LayerNormBack does, for a width that is a multiple of 8; n is the width.
//
//go:noescape
func layerNormBack8(dx, dgain, dy, x, gain *float32, rows, width int, n, eps float64)
