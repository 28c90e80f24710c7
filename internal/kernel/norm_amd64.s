//go:build amd64 && !openblas

#include "textflag.h"
#include "sums_amd64.h"

// The width of a row is a multiple of 8. Products and sums are not fused, so that they round as those of Go do.

// TOTALS adds the eight numbers of Y0 and Y1, in double precision, in the order of eight.total. The sum is in X0.
#define TOTALS \
	VADDPD       Y1, Y0, Y0 \
	VEXTRACTF128 $1, Y0, X1 \
	VADDPD       X1, X0, X0 \
	VPERMILPD    $1, X0, X1 \
	VADDPD       X1, X0, X0

// MOMENTS computes the mean and the inverse deviation of the row at SI, R9 numbers, as moments does, in all lanes of Y4 and Y5. X12 is
// the width, X13 is normEps and X14 is 1. It has labels, so a function can use it once.
#define MOMENTS \
	VXORPD Y0, Y0, Y0 \
	VXORPD Y1, Y1, Y1 \
	XORQ   BX, BX \
sum: \
	VCVTPS2PD (SI)(BX*4), Y2 \
	VCVTPS2PD 16(SI)(BX*4), Y3 \
	VADDPD    Y2, Y0, Y0 \
	VADDPD    Y3, Y1, Y1 \
	ADDQ      $8, BX \
	CMPQ      BX, R9 \
	JLT       sum \
	TOTALS \
	VDIVSD       X12, X0, X4 \
	VBROADCASTSD X4, Y5 \
	VXORPD       Y0, Y0, Y0 \
	VXORPD       Y1, Y1, Y1 \
	XORQ         BX, BX \
squares: \
	VCVTPS2PD (SI)(BX*4), Y2 \
	VCVTPS2PD 16(SI)(BX*4), Y3 \
	VSUBPD    Y5, Y2, Y2 \
	VSUBPD    Y5, Y3, Y3 \
	VMULPD    Y2, Y2, Y2 \
	VMULPD    Y3, Y3, Y3 \
	VADDPD    Y2, Y0, Y0 \
	VADDPD    Y3, Y1, Y1 \
	ADDQ      $8, BX \
	CMPQ      BX, R9 \
	JLT       squares \
	TOTALS \
	VDIVSD       X12, X0, X0 \
	VADDSD       X13, X0, X0 \
	VSQRTSD      X0, X0, X0 \
	VDIVSD       X0, X14, X0 \
	VCVTSD2SS    X4, X4, X4 \
	VBROADCASTSS X4, Y4 \
	VCVTSD2SS    X0, X0, X0 \
	VBROADCASTSS X0, Y5

// func layerNorm8(y, x, gain, bias *float32, rows, width int, n, eps float64)
TEXT ·layerNorm8(SB), NOSPLIT, $0-64
	MOVQ  y+0(FP), DI
	MOVQ  x+8(FP), SI
	MOVQ  gain+16(FP), DX
	MOVQ  bias+24(FP), CX
	MOVQ  rows+32(FP), R8
	MOVQ  width+40(FP), R9
	VMOVSD n+48(FP), X12
	VMOVSD eps+56(FP), X13
	MOVQ  $0x3ff0000000000000, AX // 1
	VMOVQ AX, X14

row:
	MOMENTS
	XORQ BX, BX

result:
	VMOVUPS (SI)(BX*4), Y0
	VSUBPS  Y4, Y0, Y0
	VMULPS  Y5, Y0, Y0
	VMULPS  (DX)(BX*4), Y0, Y0
	VADDPS  (CX)(BX*4), Y0, Y0
	VMOVUPS Y0, (DI)(BX*4)
	ADDQ    $8, BX
	CMPQ    BX, R9
	JLT     result
	LEAQ    (SI)(R9*4), SI
	LEAQ    (DI)(R9*4), DI
	DECQ    R8
	JNZ     row
	VZEROUPPER
	RET

// func layerNormBack8(dx, dgain, dy, x, gain *float32, rows, width int, n, eps float64)
TEXT ·layerNormBack8(SB), NOSPLIT, $0-72
	MOVQ  dx+0(FP), DI
	MOVQ  dgain+8(FP), R10
	MOVQ  dy+16(FP), R11
	MOVQ  x+24(FP), SI
	MOVQ  gain+32(FP), DX
	MOVQ  rows+40(FP), R8
	MOVQ  width+48(FP), R9
	VMOVSD n+56(FP), X12
	VMOVSD eps+64(FP), X13
	MOVQ  $0x3ff0000000000000, AX // 1
	VMOVQ AX, X14
	VCVTSD2SS X12, X12, X15

row:
	MOMENTS
	VXORPS Y6, Y6, Y6 // gradient of the mean
	VXORPS Y7, Y7, Y7 // gradient of the deviation
	XORQ   BX, BX

gradients:
	VMOVUPS (SI)(BX*4), Y0
	VSUBPS  Y4, Y0, Y0
	VMULPS  Y5, Y0, Y0             // normal
	VMOVUPS (R11)(BX*4), Y1
	VMULPS  Y1, Y0, Y2
	VADDPS  (R10)(BX*4), Y2, Y2
	VMOVUPS Y2, (R10)(BX*4)
	VMULPS  (DX)(BX*4), Y1, Y1     // t
	VADDPS  Y1, Y6, Y6
	VMULPS  Y0, Y1, Y1
	VADDPS  Y1, Y7, Y7
	ADDQ    $8, BX
	CMPQ    BX, R9
	JLT     gradients

	TOTAL(Y6, X6, X0)
	VDIVSS       X15, X6, X6
	VBROADCASTSS X6, Y6
	TOTAL(Y7, X7, X0)
	VDIVSS       X15, X7, X7
	VBROADCASTSS X7, Y7
	XORQ         BX, BX

result:
	VMOVUPS (SI)(BX*4), Y0
	VSUBPS  Y4, Y0, Y0
	VMULPS  Y5, Y0, Y0
	VMULPS  Y7, Y0, Y0
	VMOVUPS (R11)(BX*4), Y1
	VMULPS  (DX)(BX*4), Y1, Y1
	VSUBPS  Y6, Y1, Y1
	VSUBPS  Y0, Y1, Y1
	VMULPS  Y5, Y1, Y1
	VMOVUPS Y1, (DI)(BX*4)
	ADDQ    $8, BX
	CMPQ    BX, R9
	JLT     result
	LEAQ    (SI)(R9*4), SI
	LEAQ    (DI)(R9*4), DI
	LEAQ    (R11)(R9*4), R11
	DECQ    R8
	JNZ     row
	VZEROUPPER
	RET
