package eval

import (
	"math/bits"
	"time"
)

// sum adds products of times and counts exactly in 128 bits: a long trace overflows 64 bits of GPU-nanoseconds.
type sum struct{ hi, lo uint64 }

// add adds d·n, none of which is negative.
func (s *sum) add(d time.Duration, n int64) {
	if d < 0 || n < 0 {
		panic("eval: sum of a negative time")
	}
	hi, lo := bits.Mul64(uint64(d), uint64(n))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

// seconds rounds the sum to a float64; a sum of whole seconds below 2^53 of them is exact.
func (s sum) seconds() float64 {
	const second = uint64(time.Second)
	whole, rest := bits.Div64(s.hi%second, s.lo, second)
	return float64(s.hi/second)*(1<<64) + float64(whole) + float64(rest)/float64(second)
}
