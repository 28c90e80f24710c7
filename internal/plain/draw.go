package plain

import "math/rand/v2"

// Normal draws n numbers from the standard normal distribution.
func Normal(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// Bits draws n numbers that are 1 with probability p and otherwise 0.
func Bits(rng *rand.Rand, n int, p float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		if rng.Float64() < p {
			x[i] = 1
		}
	}
	return x
}

// Padding draws a mask for groups of n: the first group is all valid, the second all padding, and the others are mixed.
func Padding(rng *rand.Rand, groups, n int) []float64 {
	x := Bits(rng, groups*n, 0.7)
	for i := range n {
		x[i] = 1
		if groups > 1 {
			x[n+i] = 0
		}
	}
	return x
}

// Shares draws the weights of coalitions of a few of n agents. The second coalition is empty.
func Shares(rng *rand.Rand, coalitions, n int) []float64 {
	w := Bits(rng, coalitions*n, min(1, 4/float64(n)))
	for i := range w {
		w[i] *= rng.Float64()
		if i/n == 1 {
			w[i] = 0
		}
	}
	return w
}

// Dirty returns a destination filled with 1e6, so that a test notices a kernel that does not overwrite it.
func Dirty[T Float](n int) []T {
	y := make([]T, n)
	for i := range y {
		y[i] = 1e6
	}
	return y
}

// Like returns Dirty with the length of x.
func Like[T Float](x []T) []T { return Dirty[T](len(x)) }

// Singles converts inputs to single precision.
func Singles(in [][]float64) [][]float32 {
	out := make([][]float32, len(in))
	for i, x := range in {
		out[i] = make([]float32, len(x))
		for j, v := range x {
			out[i][j] = float32(v)
		}
	}
	return out
}
