// Package plain contains the kernels of internal/kernel, attention and coordgraph as plain loops that follow the formulas. Tests
// compare the fast kernels and the training graphs with them, by Check. Only tests import this package.
//
// The loops compute with complex numbers. The real part is the value. If an input is x+hi with a tiny h, the imaginary part of
// the result divided by h is the exact derivative with respect to x, without the cancellation of finite differences (Squire and
// Trapp, 1998). Shapes and masks are those of the kernels; the batch size follows from the lengths where possible.
package plain

import (
	"math"
	"math/cmplx"
)

// tiny is the imaginary step h for derivatives.
const tiny = 1e-30

// Derivative returns the derivative of sum_i dy_i f(in)_i with respect to element e of the input in[at]. It restores in before it
// returns.
func Derivative(f func(in [][]complex128) []complex128, in [][]complex128, dy []float64, at, e int) float64 {
	x := in[at][e]
	in[at][e] += tiny * 1i
	sum := 0.0
	for i, v := range f(in) {
		sum += dy[i] * imag(v) / tiny
	}
	in[at][e] = x
	return sum
}

// Complex converts inputs to complex numbers.
func Complex(in [][]float64) [][]complex128 {
	out := make([][]complex128, len(in))
	for i, x := range in {
		out[i] = make([]complex128, len(x))
		for j, v := range x {
			out[i][j] = complex(v, 0)
		}
	}
	return out
}

// Dense returns act(x*w + b).
func Dense(x, w, b []complex128, in, out int, act func(complex128) complex128) []complex128 {
	y := make([]complex128, len(x)/in*out)
	for r := range len(x) / in {
		for j := range out {
			s := b[j]
			for i := range in {
				s += x[r*in+i] * w[i*out+j]
			}
			y[r*out+j] = act(s)
		}
	}
	return y
}

// Identity returns x: it is the activation None.
func Identity(x complex128) complex128 { return x }

// ReLU returns x if its real part is positive, and otherwise 0.
func ReLU(x complex128) complex128 {
	if real(x) > 0 {
		return x
	}
	return 0
}

// LayerNorm returns (x-mean)/sqrt(var+1e-5)*gain + bias for each row.
func LayerNorm(x, gain, bias []complex128) []complex128 {
	d := len(gain)
	y := make([]complex128, len(x))
	for r := 0; r < len(x); r += d {
		var mean, variance complex128
		for j := range d {
			mean += x[r+j] / complex(float64(d), 0)
		}
		for j := range d {
			variance += (x[r+j] - mean) * (x[r+j] - mean) / complex(float64(d), 0)
		}
		for j := range d {
			y[r+j] = (x[r+j]-mean)/cmplx.Sqrt(variance+1e-5)*gain[j] + bias[j]
		}
	}
	return y
}

// Attention returns masked multi-head attention with nq queries and nk keys per group. Unless reference is 0, it multiplies the
// scores by log(1+n)/log(1+reference), where n is the number of valid keys.
func Attention(q, k, v, mask []complex128, batch, nq, nk, d, heads, reference int) []complex128 {
	y := make([]complex128, batch*nq*d)
	dk := d / heads
	for b := range batch {
		by := 1 / math.Sqrt(float64(dk))
		if reference > 0 {
			n := 0.0
			for j := range nk {
				n += real(mask[b*nk+j])
			}
			by *= math.Log(1+n) / math.Log(1+float64(reference))
		}
		for h := range heads {
			for i := range nq {
				var sum complex128
				e := make([]complex128, nk)
				for j := range nk {
					var s complex128
					for t := range dk {
						s += q[(b*nq+i)*d+h*dk+t] * k[(b*nk+j)*d+h*dk+t]
					}
					if mask[b*nk+j] != 0 {
						e[j] = cmplx.Exp(s * complex(by, 0))
						sum += e[j]
					}
				}
				for j := range nk {
					if mask[b*nk+j] != 0 {
						for t := range dk {
							y[(b*nq+i)*d+h*dk+t] += e[j] / sum * v[(b*nk+j)*d+h*dk+t]
						}
					}
				}
			}
		}
	}
	return y
}

// MaskedLogSoftmax returns x - log(sum of exp(x)) for the valid entries of each row, and -1e9 for the others.
func MaskedLogSoftmax(x, mask []complex128, width int) []complex128 {
	y := make([]complex128, len(x))
	for r := 0; r < len(x); r += width {
		var sum complex128
		for j := r; j < r+width; j++ {
			if mask[j] != 0 {
				sum += cmplx.Exp(x[j])
			}
		}
		for j := r; j < r+width; j++ {
			y[j] = -1e9
			if mask[j] != 0 {
				y[j] = x[j] - cmplx.Log(sum)
			}
		}
	}
	return y
}

// mean returns the mean of the valid rows of each group of n rows.
func mean(x, mask []complex128, n, d int) []complex128 {
	y := make([]complex128, len(mask)/n*d)
	for b := range len(mask) / n {
		for j := range d {
			var sum, count complex128
			for i := b * n; i < (b+1)*n; i++ {
				if mask[i] != 0 {
					sum += x[i*d+j]
					count++
				}
			}
			if count != 0 {
				y[b*d+j] = sum / count
			}
		}
	}
	return y
}
