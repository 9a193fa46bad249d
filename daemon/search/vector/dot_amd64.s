#include "textflag.h"

// func dotCodes(row []uint8, query []int16) int32
TEXT ·dotCodes(SB), NOSPLIT, $0-52
	MOVQ row_base+0(FP), SI
	MOVQ row_len+8(FP), CX
	MOVQ query_base+24(FP), DI
	PXOR X0, X0 // zero
	PXOR X1, X1 // four sums of 32 bits
	PXOR X2, X2 // four more

loop: // 16 codes at a time
	MOVOU     (SI), X3
	MOVO      X3, X4
	PUNPCKLBW X0, X3 // the first 8 as 16 bits
	PUNPCKHBW X0, X4 // the others
	MOVOU     (DI), X5
	MOVOU     16(DI), X6
	PMADDWL   X5, X3 // sums of two products
	PMADDWL   X6, X4
	PADDL     X3, X1
	PADDL     X4, X2
	ADDQ      $16, SI
	ADDQ      $32, DI
	SUBQ      $16, CX
	JNZ       loop

	PADDL  X2, X1
	PSHUFD $0x4e, X1, X3
	PADDL  X3, X1
	PSHUFD $0xb1, X1, X3
	PADDL  X3, X1
	MOVD   X1, AX
	MOVL   AX, ret+48(FP)
	RET
