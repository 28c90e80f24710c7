//go:build amd64 && !openblas

#include "textflag.h"

// Products and sums are not fused, so that they round as those of Go and gonum do.

// func multiply32(dst, x, w *float32, rows, k, ldd, ldx, ldw int, alpha, beta float32)
TEXT ·multiply32(SB), NOSPLIT, $0-72
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ rows+24(FP), R8
	MOVQ k+32(FP), R9
	MOVQ ldd+40(FP), R10
	MOVQ ldx+48(FP), R11
	MOVQ ldw+56(FP), R12
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	VBROADCASTSS alpha+64(FP), Y5
	VBROADCASTSS beta+68(FP), Y6
	VXORPS Y7, Y7, Y7

row32:
	VXORPS   Y0, Y0, Y0
	VXORPS   Y1, Y1, Y1
	VXORPS   Y2, Y2, Y2
	VXORPS   Y3, Y3, Y3
	VUCOMISS X7, X6
	JNE      old32
	JNP      sum32

old32:
	VMULPS (DI), Y6, Y0
	VMULPS 32(DI), Y6, Y1
	VMULPS 64(DI), Y6, Y2
	VMULPS 96(DI), Y6, Y3

sum32:
	MOVQ SI, BX
	MOVQ DX, CX
	MOVQ R9, R13

term32:
	VBROADCASTSS (BX), Y4
	VMULPS       Y5, Y4, Y4
	VMULPS       (CX), Y4, Y8
	VMULPS       32(CX), Y4, Y9
	VMULPS       64(CX), Y4, Y10
	VMULPS       96(CX), Y4, Y11
	VADDPS       Y8, Y0, Y0
	VADDPS       Y9, Y1, Y1
	VADDPS       Y10, Y2, Y2
	VADDPS       Y11, Y3, Y3
	ADDQ         $4, BX
	ADDQ         R12, CX
	DECQ         R13
	JNZ          term32
	VMOVUPS      Y0, (DI)
	VMOVUPS      Y1, 32(DI)
	VMOVUPS      Y2, 64(DI)
	VMOVUPS      Y3, 96(DI)
	ADDQ         R10, DI
	ADDQ         R11, SI
	DECQ         R8
	JNZ          row32
	VZEROUPPER
	RET

// func multiply8(dst, x, w *float32, rows, k, ldd, ldx, ldw int, alpha, beta float32, mask *int32)
TEXT ·multiply8(SB), NOSPLIT, $0-80
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ rows+24(FP), R8
	MOVQ k+32(FP), R9
	MOVQ ldd+40(FP), R10
	MOVQ ldx+48(FP), R11
	MOVQ ldw+56(FP), R12
	MOVQ mask+72(FP), AX
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	VBROADCASTSS alpha+64(FP), Y5
	VBROADCASTSS beta+68(FP), Y6
	VXORPS  Y7, Y7, Y7
	VMOVUPS (AX), Y3

row8:
	VXORPS   Y0, Y0, Y0
	VUCOMISS X7, X6
	JNE      old8
	JNP      sum8

old8:
	VMASKMOVPS (DI), Y3, Y0
	VMULPS     Y6, Y0, Y0

sum8:
	MOVQ SI, BX
	MOVQ DX, CX
	MOVQ R9, R13

term8:
	VBROADCASTSS (BX), Y4
	VMULPS       Y5, Y4, Y4
	VMASKMOVPS   (CX), Y3, Y8
	VMULPS       Y8, Y4, Y8
	VADDPS       Y8, Y0, Y0
	ADDQ         $4, BX
	ADDQ         R12, CX
	DECQ         R13
	JNZ          term8
	VMASKMOVPS   Y0, Y3, (DI)
	ADDQ         R10, DI
	ADDQ         R11, SI
	DECQ         R8
	JNZ          row8
	VZEROUPPER
	RET

// func largest8(x *float32, n int) float32
TEXT ·largest8(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVL $0xff800000, AX         // negative infinity
	VMOVD AX, X0
	VBROADCASTSS X0, Y0

largest:
	VMOVUPS (SI), Y1
	VMAXPS  Y0, Y1, Y0           // the old one where the new one is not a number
	ADDQ    $32, SI
	SUBQ    $8, CX
	JNZ     largest
	VEXTRACTF128 $1, Y0, X1
	VMAXPS  X1, X0, X0
	VPERMILPS $0x4e, X0, X1
	VMAXPS  X1, X0, X0
	VPERMILPS $0xb1, X0, X1
	VMAXPS  X1, X0, X0
	VMOVSS  X0, ret+16(FP)
	VZEROUPPER
	RET

// func exponentials8(x *float32, n int, top float32, constants *[13]float32)
TEXT ·exponentials8(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ constants+24(FP), DX
	VBROADCASTSS top+16(FP), Y0
	VBROADCASTSS 4(DX), Y2       // log2e
	VBROADCASTSS 8(DX), Y3       // round
	VBROADCASTSS 20(DX), Y4      // the polynomial
	VBROADCASTSS 24(DX), Y5
	VBROADCASTSS 28(DX), Y6
	VBROADCASTSS 32(DX), Y7
	VBROADCASTSS 36(DX), Y8
	VBROADCASTSS 40(DX), Y9
	VBROADCASTSS 44(DX), Y1
	VBROADCASTSS 48(DX), Y10     // the bias of exponents

exponential:
	VMOVUPS (SI), Y11
	VSUBPS  Y0, Y11, Y11         // x
	VBROADCASTSS (DX), Y15       // tooSmall
	VCMPPS  $5, Y15, Y11, Y14    // not less
	VMULPS  Y2, Y11, Y12
	VADDPS  Y3, Y12, Y12         // shifted
	VSUBPS  Y3, Y12, Y13         // n
	VBROADCASTSS 12(DX), Y15     // ln2High
	VMULPS  Y15, Y13, Y15
	VSUBPS  Y15, Y11, Y11
	VBROADCASTSS 16(DX), Y15     // ln2Low
	VMULPS  Y15, Y13, Y15
	VSUBPS  Y15, Y11, Y11        // f
	VMULPS  Y11, Y4, Y13
	VADDPS  Y5, Y13, Y13
	VMULPS  Y11, Y13, Y13
	VADDPS  Y6, Y13, Y13
	VMULPS  Y11, Y13, Y13
	VADDPS  Y7, Y13, Y13
	VMULPS  Y11, Y13, Y13
	VADDPS  Y8, Y13, Y13
	VMULPS  Y11, Y13, Y13
	VADDPS  Y9, Y13, Y13
	VMULPS  Y11, Y13, Y13
	VMULPS  Y11, Y13, Y13
	VADDPS  Y11, Y13, Y13
	VADDPS  Y1, Y13, Y13
	VPADDD  Y10, Y12, Y12
	VPSLLD  $23, Y12, Y12
	VMULPS  Y12, Y13, Y13
	VANDPS  Y14, Y13, Y13
	VMOVUPS Y13, (SI)
	ADDQ    $32, SI
	SUBQ    $8, CX
	JNZ     exponential
	VZEROUPPER
	RET

// func scale8(x *float32, n int, by float32)
TEXT ·scale8(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS by+16(FP), Y0

scale:
	VMULPS  (SI), Y0, Y1
	VMOVUPS Y1, (SI)
	ADDQ    $32, SI
	SUBQ    $8, CX
	JNZ     scale
	VZEROUPPER
	RET
