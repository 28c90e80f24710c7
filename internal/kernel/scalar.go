package kernel

import (
	"math"
	"unsafe"
)

// Exp returns e**x. In single precision it computes a polynomial with a relative error below 2e-7, several times faster than
// math.Exp, and returns 0 where the result would be below the smallest normal number.
func Exp[T Float](x T) T {
	if unsafe.Sizeof(x) == 4 {
		return T(exp32(float32(x)))
	}
	return T(math.Exp(float64(x)))
}

// exp32 is Exp in single precision.
func exp32(x float32) float32 {
	const large = 88 // above it 2**n may exceed the range of exponents
	switch {
	case x < tooSmall:
		return 0
	case !(x <= large): // true for NaN too
		return float32(math.Exp(float64(x)))
	}
	return expNear(x)
}

// The constants of expNear.
const (
	tooSmall = -87.33654  // below it e**x is below the smallest normal number
	round    = 12582912.0 // 1.5 * 2**23: adding it rounds to an integer, which is then in the lowest bits
	bias     = 127        // of the exponent
	log2e    = 1.44269504088896341
	ln2High  = 0.693359375
	ln2Low   = -2.12194440e-4
	e7       = 1.9875691500e-4
	e6       = 1.3981999507e-3
	e5       = 8.3334519073e-3
	e4       = 4.1665795894e-2
	e3       = 1.6666665459e-1
	e2       = 5.0000001201e-1
)

// expNear writes x, from tooSmall to 88, as n*ln 2 + f with |f| <= ln 2 / 2 and evaluates e**f by the polynomial of Moshier's
// Cephes library. It is small enough to be inlined.
func expNear(x float32) float32 {
	shifted := float32(x*log2e) + round
	n := shifted - round
	f := x - n*ln2High - n*ln2Low
	return ((((((e7*f+e6)*f+e5)*f+e4)*f+e3)*f+e2)*f*f + f + 1) * math.Float32frombits((math.Float32bits(shifted)+bias)<<23)
}

// Sigmoid returns 1/(1+e**-x) without overflow.
func Sigmoid[T Float](x T) T {
	if x >= 0 {
		return 1 / (1 + Exp(-x))
	}
	e := Exp(x)
	return e / (1 + e)
}
