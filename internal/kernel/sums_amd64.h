// TOTAL adds the eight lanes of Y in the order of eight.total. HALF is the lower half of Y, and T is scratch.
#define TOTAL(Y, HALF, T) \
	VEXTRACTF128 $1, Y, T       \
	VADDPS       T, HALF, HALF  \
	VPERMILPS    $0x4e, HALF, T \
	VADDPS       T, HALF, HALF  \
	VPERMILPS    $0xb1, HALF, T \
	VADDPS       T, HALF, HALF
