//go:build amd64 && !openblas

#include "textflag.h"
#include "sums_amd64.h"

// Products and sums are not fused, so that they round as those of Go do. Eight numbers of a row are in one register. The last
// numbers of a row, up to seven, are loaded and stored with a mask; the other lanes are then 0.

// EXPONENTIAL replaces each number x in Y1 by e**(x-top) as expNear does, where Y0 holds top, no x exceeds top, and DX is the
// address of expConstants. Below tooSmall the result is 0.
#define EXPONENTIAL \
	VSUBPS  Y0, Y1, Y1         \
	VCMPPS  $5, (DX), Y1, Y4   \ // not less
	VMULPS  32(DX), Y1, Y2     \
	VADDPS  64(DX), Y2, Y2     \ // shifted
	VSUBPS  64(DX), Y2, Y3     \ // n
	VMULPS  96(DX), Y3, Y5     \
	VSUBPS  Y5, Y1, Y1         \
	VMULPS  128(DX), Y3, Y5    \
	VSUBPS  Y5, Y1, Y1         \ // f
	VMULPS  160(DX), Y1, Y3    \
	VADDPS  192(DX), Y3, Y3    \
	VMULPS  Y1, Y3, Y3         \
	VADDPS  224(DX), Y3, Y3    \
	VMULPS  Y1, Y3, Y3         \
	VADDPS  256(DX), Y3, Y3    \
	VMULPS  Y1, Y3, Y3         \
	VADDPS  288(DX), Y3, Y3    \
	VMULPS  Y1, Y3, Y3         \
	VADDPS  320(DX), Y3, Y3    \
	VMULPS  Y1, Y3, Y3         \
	VMULPS  Y1, Y3, Y3         \
	VADDPS  Y1, Y3, Y3         \
	VADDPS  352(DX), Y3, Y3    \
	VPADDD  384(DX), Y2, Y2    \
	VPSLLD  $23, Y2, Y2        \
	VMULPS  Y2, Y3, Y3         \
	VANDPS  Y4, Y3, Y1

// func softmax8(x *float32, rows, cols int, mask *[8]int32, constants *[14][8]float32)
TEXT ·softmax8(SB), NOSPLIT, $0-40
	MOVQ    x+0(FP), SI
	MOVQ    rows+8(FP), R8
	MOVQ    cols+16(FP), R9
	MOVQ    mask+24(FP), AX
	MOVQ    constants+32(FP), DX
	VMOVUPS (AX), Y10
	VMOVUPS 416(DX), Y9 // negative infinity
	MOVQ    R9, R10
	LEAQ    (SI)(R9*4), DI // the end of the row
	SHRQ    $3, R9
	ANDQ    $7, R10

row:
	VMOVAPS Y9, Y0
	MOVQ    SI, BX
	MOVQ    R9, CX
	TESTQ   CX, CX
	JEQ     lastlargest

largest:
	VMOVUPS (BX), Y1
	VMAXPS  Y0, Y1, Y0 // the old one where the new one is not a number
	ADDQ    $32, BX
	DECQ    CX
	JNZ     largest

lastlargest:
	TESTQ      R10, R10
	JEQ        top
	VMASKMOVPS (BX), Y10, Y1
	VBLENDVPS  Y10, Y1, Y9, Y1
	VMAXPS     Y0, Y1, Y0

top:
	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0x4e, X0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0xb1, X0, X1
	VMAXPS       X1, X0, X0
	VBROADCASTSS X0, Y0
	VXORPS       Y6, Y6, Y6
	MOVQ         SI, BX
	MOVQ         R9, CX
	TESTQ        CX, CX
	JEQ          lastexponential

exponential:
	VMOVUPS (BX), Y1
	EXPONENTIAL
	VMOVUPS Y1, (BX)
	VADDPS  Y1, Y6, Y6
	ADDQ    $32, BX
	DECQ    CX
	JNZ     exponential

lastexponential:
	TESTQ      R10, R10
	JEQ        sum
	VMASKMOVPS (BX), Y10, Y1
	EXPONENTIAL
	VANDPS     Y10, Y1, Y7
	VADDPS     Y7, Y6, Y6

sum:
	TOTAL(Y6, X6, X1)
	VMOVSS       352(DX), X1
	VDIVSS       X6, X1, X6
	VBROADCASTSS X6, Y6
	MOVQ         SI, BX
	MOVQ         R9, CX
	TESTQ        CX, CX
	JEQ          lastscale

scale:
	VMULPS  (BX), Y6, Y1
	VMOVUPS Y1, (BX)
	ADDQ    $32, BX
	DECQ    CX
	JNZ     scale

lastscale:
	TESTQ      R10, R10
	JEQ        next
	VMULPS     Y7, Y6, Y1
	VMASKMOVPS Y1, Y10, (BX)

next:
	MOVQ DI, SI
	MOVQ cols+16(FP), CX
	LEAQ (DI)(CX*4), DI
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET

// func softmaxBack8(grad, p *float32, rows, cols int, mask *[8]int32)
TEXT ·softmaxBack8(SB), NOSPLIT, $0-40
	MOVQ    grad+0(FP), DI
	MOVQ    p+8(FP), SI
	MOVQ    rows+16(FP), R8
	MOVQ    cols+24(FP), R9
	MOVQ    mask+32(FP), AX
	VMOVUPS (AX), Y10
	MOVQ    R9, R10
	MOVQ    R9, R12
	SHLQ    $2, R12 // bytes of a row
	SHRQ    $3, R9
	ANDQ    $7, R10

row:
	VXORPS Y0, Y0, Y0
	XORQ   BX, BX
	MOVQ   R9, CX
	TESTQ  CX, CX
	JEQ    lastproduct

product:
	VMOVUPS (DI)(BX*1), Y1
	VMULPS  (SI)(BX*1), Y1, Y1
	VADDPS  Y1, Y0, Y0
	ADDQ    $32, BX
	DECQ    CX
	JNZ     product

lastproduct:
	TESTQ      R10, R10
	JEQ        mean
	VMASKMOVPS (DI)(BX*1), Y10, Y3
	VMASKMOVPS (SI)(BX*1), Y10, Y4
	VMULPS     Y4, Y3, Y1
	VADDPS     Y1, Y0, Y0

mean:
	TOTAL(Y0, X0, X1)
	VBROADCASTSS X0, Y0
	XORQ         BX, BX
	MOVQ         R9, CX
	TESTQ        CX, CX
	JEQ          lastresult

result:
	VMOVUPS (DI)(BX*1), Y1
	VSUBPS  Y0, Y1, Y1
	VMULPS  (SI)(BX*1), Y1, Y1
	VMOVUPS Y1, (DI)(BX*1)
	ADDQ    $32, BX
	DECQ    CX
	JNZ     result

lastresult:
	TESTQ      R10, R10
	JEQ        next
	VSUBPS     Y0, Y3, Y1
	VMULPS     Y4, Y1, Y1
	VMASKMOVPS Y1, Y10, (DI)(BX*1)

next:
	ADDQ R12, DI
	ADDQ R12, SI
	DECQ R8
	JNZ  row
	VZEROUPPER
	RET
