package eval

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// sum adds up products of a time and a count exactly, in 128 bits: for a long trace, GPU-nanoseconds overflow 64 bits.
type sum struct{ hi, lo uint64 }

// add adds d·n. Neither may be negative.
func (s *sum) add(d time.Duration, n int64) {
	if d < 0 || n < 0 {
		panic("eval: sum of a negative time")
	}
	hi, lo := bits.Mul64(uint64(d), uint64(n))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

// since returns the amount added since the sum had the value earlier.
func (s sum) since(earlier sum) sum {
	lo, borrow := bits.Sub64(s.lo, earlier.lo, 0)
	hi, _ := bits.Sub64(s.hi, earlier.hi, borrow)
	return sum{hi, lo}
}

// seconds returns the sum in seconds, rounded to a float64. It is exact for whole seconds below 2^53.
func (s sum) seconds() float64 {
	const second = uint64(time.Second)
	whole, rest := bits.Div64(s.hi%second, s.lo, second)
	return float64(s.hi/second)*(1<<64) + float64(whole) + float64(rest)/float64(second)
}

// float returns the sum in nanoseconds, rounded to a float64.
func (s sum) float() float64 { return float64(s.hi)*(1<<64) + float64(s.lo) }

func (s sum) compare(t sum) int { return cmp.Or(cmp.Compare(s.hi, t.hi), cmp.Compare(s.lo, t.lo)) }

// exceeds reports whether s·d > t·e, computed exactly. The times must not be negative.
func (s sum) exceeds(d time.Duration, t sum, e time.Duration) bool {
	a, b := s.times(uint64(d)), t.times(uint64(e))
	return slices.Compare(a[:], b[:]) > 0
}

// times returns s·n in 192 bits, high words first.
func (s sum) times(n uint64) [3]uint64 {
	high, middle := bits.Mul64(s.hi, n)
	over, low := bits.Mul64(s.lo, n)
	middle, carry := bits.Add64(middle, over, 0)
	return [3]uint64{high + carry, middle, low}
}

// over returns s / t, or 0 if t is 0.
func (s sum) over(t sum) float64 {
	if t == (sum{}) {
		return 0
	}
	return s.seconds() / t.seconds()
}
