//go:build amd64 && !openblas

#include "textflag.h"

// Products and sums are not fused, so that they round as those of Go and gonum do.

// ADD16 adds Y10 times 16 numbers of w, which Y8 and Y9 hold, to a row of the result.
#define ADD16(LOW, HIGH) \
	VMULPS Y8, Y10, Y11    \
	VADDPS Y11, LOW, LOW   \
	VMULPS Y9, Y10, Y11    \
	VADDPS Y11, HIGH, HIGH

// TERM16 adds a number of x times 16 numbers of w, which Y8 and Y9 hold, to a row of the result.
#define TERM16(X, LOW, HIGH) \
	VBROADCASTSS X, Y10 \
	ADD16(LOW, HIGH)

// SCALED16 is TERM16 with alpha, which Y12 holds.
#define SCALED16(X, LOW, HIGH) \
	VBROADCASTSS X, Y10      \
	VMULPS       Y12, Y10, Y10 \
	ADD16(LOW, HIGH)

// func multiply16(dst, x, w *float32, rows, k, ldd, nextRow, nextTerm, ldw int, alpha, beta float32)
TEXT ·multiply16(SB), NOSPLIT, $0-80
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ rows+24(FP), R8
	MOVQ k+32(FP), R9
	MOVQ ldd+40(FP), R10
	MOVQ nextRow+48(FP), R11
	MOVQ nextTerm+56(FP), R14
	MOVQ ldw+64(FP), R12
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R14
	SHLQ $2, R12
	VBROADCASTSS alpha+72(FP), Y12
	VBROADCASTSS beta+76(FP), Y13

four:
	CMPQ   R8, $4
	JLT    one
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	CMPL   beta+76(FP), $0
	JEQ    sum4
	LEAQ   (R10)(R10*2), AX
	VMULPS (DI), Y13, Y0
	VMULPS 32(DI), Y13, Y1
	VMULPS (DI)(R10*1), Y13, Y2
	VMULPS 32(DI)(R10*1), Y13, Y3
	VMULPS (DI)(R10*2), Y13, Y4
	VMULPS 32(DI)(R10*2), Y13, Y5
	VMULPS (DI)(AX*1), Y13, Y6
	VMULPS 32(DI)(AX*1), Y13, Y7

sum4:
	LEAQ (R11)(R11*2), AX
	MOVQ SI, BX
	MOVQ DX, CX
	MOVQ R9, R13
	CMPL alpha+72(FP), $0x3f800000 // 1
	JNE  scaled4

term4:
	VMOVUPS (CX), Y8
	VMOVUPS 32(CX), Y9
	TERM16((BX), Y0, Y1)
	TERM16((BX)(R11*1), Y2, Y3)
	TERM16((BX)(R11*2), Y4, Y5)
	TERM16((BX)(AX*1), Y6, Y7)
	ADDQ    R14, BX
	ADDQ    R12, CX
	DECQ    R13
	JNZ     term4
	JMP     store4

scaled4:
	VMOVUPS (CX), Y8
	VMOVUPS 32(CX), Y9
	SCALED16((BX), Y0, Y1)
	SCALED16((BX)(R11*1), Y2, Y3)
	SCALED16((BX)(R11*2), Y4, Y5)
	SCALED16((BX)(AX*1), Y6, Y7)
	ADDQ    R14, BX
	ADDQ    R12, CX
	DECQ    R13
	JNZ     scaled4

store4:
	LEAQ    (R10)(R10*2), AX
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, (DI)(R10*1)
	VMOVUPS Y3, 32(DI)(R10*1)
	VMOVUPS Y4, (DI)(R10*2)
	VMOVUPS Y5, 32(DI)(R10*2)
	VMOVUPS Y6, (DI)(AX*1)
	VMOVUPS Y7, 32(DI)(AX*1)
	LEAQ    (DI)(R10*4), DI
	LEAQ    (SI)(R11*4), SI
	SUBQ    $4, R8
	JMP     four

one:
	TESTQ  R8, R8
	JEQ    done
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	CMPL   beta+76(FP), $0
	JEQ    sum1
	VMULPS (DI), Y13, Y0
	VMULPS 32(DI), Y13, Y1

sum1:
	MOVQ SI, BX
	MOVQ DX, CX
	MOVQ R9, R13

term1:
	VMOVUPS (CX), Y8
	VMOVUPS 32(CX), Y9
	SCALED16((BX), Y0, Y1)
	ADDQ    R14, BX
	ADDQ    R12, CX
	DECQ    R13
	JNZ     term1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ    R10, DI
	ADDQ    R11, SI
	DECQ    R8
	JMP     one

done:
	VZEROUPPER
	RET

// TERM8 adds a number of x times the numbers of w, which Y8 holds, to a row of the result.
#define TERM8(X, ROW) \
	VBROADCASTSS X, Y9      \
	VMULPS       Y8, Y9, Y9 \
	VADDPS       Y9, ROW, ROW

// SCALED8 is TERM8 with alpha, which Y12 holds.
#define SCALED8(X, ROW) \
	VBROADCASTSS X, Y9       \
	VMULPS       Y12, Y9, Y9 \
	VMULPS       Y8, Y9, Y9  \
	VADDPS       Y9, ROW, ROW

// OLD8 is beta, which Y13 holds, times the old content of a row.
#define OLD8(MEMORY, ROW) \
	VMASKMOVPS MEMORY, Y14, ROW \
	VMULPS     ROW, Y13, ROW

// func multiply8(dst, x, w *float32, rows, k, ldd, nextRow, nextTerm, ldw int, alpha, beta float32, mask *[8]int32)
TEXT ·multiply8(SB), NOSPLIT, $0-88
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ rows+24(FP), R8
	MOVQ k+32(FP), R9
	MOVQ ldd+40(FP), R10
	MOVQ nextRow+48(FP), R11
	MOVQ nextTerm+56(FP), R14
	MOVQ ldw+64(FP), R12
	MOVQ mask+80(FP), AX
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R14
	SHLQ $2, R12
	VBROADCASTSS alpha+72(FP), Y12
	VBROADCASTSS beta+76(FP), Y13
	VMOVUPS (AX), Y14

eight:
	CMPQ   R8, $8
	JLT    one
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	CMPL   beta+76(FP), $0
	JEQ    sum8
	LEAQ   (R10)(R10*2), AX
	LEAQ   (DI)(R10*4), BX
	OLD8((DI), Y0)
	OLD8((DI)(R10*1), Y1)
	OLD8((DI)(R10*2), Y2)
	OLD8((DI)(AX*1), Y3)
	OLD8((BX), Y4)
	OLD8((BX)(R10*1), Y5)
	OLD8((BX)(R10*2), Y6)
	OLD8((BX)(AX*1), Y7)

sum8:
	LEAQ (R11)(R11*2), AX
	MOVQ SI, BX
	LEAQ (SI)(R11*4), R15
	MOVQ DX, CX
	MOVQ R9, R13
	CMPL alpha+72(FP), $0x3f800000 // 1
	JNE  scaled8

term8:
	VMASKMOVPS (CX), Y14, Y8
	TERM8((BX), Y0)
	TERM8((BX)(R11*1), Y1)
	TERM8((BX)(R11*2), Y2)
	TERM8((BX)(AX*1), Y3)
	TERM8((R15), Y4)
	TERM8((R15)(R11*1), Y5)
	TERM8((R15)(R11*2), Y6)
	TERM8((R15)(AX*1), Y7)
	ADDQ       R14, BX
	ADDQ       R14, R15
	ADDQ       R12, CX
	DECQ       R13
	JNZ        term8
	JMP        store8

scaled8:
	VMASKMOVPS (CX), Y14, Y8
	SCALED8((BX), Y0)
	SCALED8((BX)(R11*1), Y1)
	SCALED8((BX)(R11*2), Y2)
	SCALED8((BX)(AX*1), Y3)
	SCALED8((R15), Y4)
	SCALED8((R15)(R11*1), Y5)
	SCALED8((R15)(R11*2), Y6)
	SCALED8((R15)(AX*1), Y7)
	ADDQ       R14, BX
	ADDQ       R14, R15
	ADDQ       R12, CX
	DECQ       R13
	JNZ        scaled8

store8:
	MOVQ    mask+80(FP), CX
	LEAQ    (R10)(R10*2), AX
	LEAQ    (DI)(R10*4), BX
	CMPL    28(CX), $0
	JEQ     some8
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, (DI)(R10*1)
	VMOVUPS Y2, (DI)(R10*2)
	VMOVUPS Y3, (DI)(AX*1)
	VMOVUPS Y4, (BX)
	VMOVUPS Y5, (BX)(R10*1)
	VMOVUPS Y6, (BX)(R10*2)
	VMOVUPS Y7, (BX)(AX*1)
	JMP     next8

some8: // a store with a mask is slow on some processors
	VMASKMOVPS Y0, Y14, (DI)
	VMASKMOVPS Y1, Y14, (DI)(R10*1)
	VMASKMOVPS Y2, Y14, (DI)(R10*2)
	VMASKMOVPS Y3, Y14, (DI)(AX*1)
	VMASKMOVPS Y4, Y14, (BX)
	VMASKMOVPS Y5, Y14, (BX)(R10*1)
	VMASKMOVPS Y6, Y14, (BX)(R10*2)
	VMASKMOVPS Y7, Y14, (BX)(AX*1)

next8:
	LEAQ (DI)(R10*8), DI
	LEAQ (SI)(R11*8), SI
	SUBQ $8, R8
	JMP  eight

one:
	TESTQ  R8, R8
	JEQ    done
	VXORPS Y0, Y0, Y0
	CMPL   beta+76(FP), $0
	JEQ    sum1
	OLD8((DI), Y0)

sum1:
	MOVQ SI, BX
	MOVQ DX, CX
	MOVQ R9, R13

term1:
	VMASKMOVPS (CX), Y14, Y8
	SCALED8((BX), Y0)
	ADDQ       R14, BX
	ADDQ       R12, CX
	DECQ       R13
	JNZ        term1
	VMASKMOVPS Y0, Y14, (DI)
	ADDQ       R10, DI
	ADDQ       R11, SI
	DECQ       R8
	JMP        one

done:
	VZEROUPPER
	RET
