//go:build amd64 && !openblas

package kernel

import "golang.org/x/sys/cpu"

// lanes says whether the processor has what lanes_amd64.s needs. Its loops work on eight numbers at once, each of which goes
// through the same operations in the same order as in the loops that they stand for, so the results are the same bits.
var lanes = cpu.X86.HasAVX2

// multiply32 computes 32 columns of dst = alpha*x*w + beta*dst for so many rows, the ld's being the distances between rows. A
// beta of 0 ignores what dst holds.
//
//go:noescape
func multiply32(dst, x, w *float32, rows, k, ldd, ldx, ldw int, alpha, beta float32)

// multiply8 does so with as many columns as mask begins with ones: eight numbers with all bits set or none.
//
//go:noescape
func multiply8(dst, x, w *float32, rows, k, ldd, ldx, ldw int, alpha, beta float32, mask *[8]int32)

// largest8 returns the largest of n numbers, a positive multiple of 8.
//
//go:noescape
func largest8(x *float32, n int) float32

// exponentials8 replaces n numbers, a positive multiple of 8, by e**(x-top), top being no less than any of them.
//
//go:noescape
func exponentials8(x *float32, n int, top float32, constants *[13]float32)

// scale8 multiplies n numbers, a positive multiple of 8.
//
//go:noescape
func scale8(x *float32, n int, by float32)
