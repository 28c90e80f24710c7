//go:build amd64 && !openblas

package kernel

import "golang.org/x/sys/cpu"

// lanes reports whether the processor can run lanes_amd64.s. The loops there process eight numbers at once. Each number goes
// through the same operations in the same order as in the plain loops, so the results are equal bit for bit.
var lanes = cpu.X86.HasAVX2

// multiply32 computes 32 columns of dst = alpha*x*w + beta*dst for the given number of rows. The distances between rows are ldd,
// ldx and ldw. If beta is 0, it ignores the old content of dst.
//
//go:noescape
func multiply32(dst, x, w *float32, rows, k, ldd, ldx, ldw int, alpha, beta float32)

// multiply8 is multiply32 for at most 8 columns: those whose number in mask has all bits set. The other numbers in mask are 0.
//
//go:noescape
func multiply8(dst, x, w *float32, rows, k, ldd, ldx, ldw int, alpha, beta float32, mask *[8]int32)

// largest8 returns the largest of n numbers; n is a positive multiple of 8.
//
//go:noescape
func largest8(x *float32, n int) float32

// exponentials8 replaces each of n numbers x by e**(x-top); n is a positive multiple of 8, and no number exceeds top.
//
//go:noescape
func exponentials8(x *float32, n int, top float32, constants *[13]float32)

// scale8 multiplies n numbers by the number by; n is a positive multiple of 8.
//
//go:noescape
func scale8(x *float32, n int, by float32)
