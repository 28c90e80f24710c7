package kernel

import (
	"math"
	"math/rand/v2"
)

// Draw fills w with the first weights of an untrained layer: normal numbers of mean 0 and the given standard deviation.
func Draw(w []float32, deviation float64, r *rand.Rand) {
	for i := range w {
		w[i] = float32(deviation * r.NormFloat64())
	}
}

// He returns the standard deviation of first weights with which a layer of the given number of inputs, whose activation is ReLU,
// keeps the scale of signals (He et al., Delving deep into rectifiers, ICCV 2015).
func He(in int) float64 { return math.Sqrt(2 / float64(in)) }

// Fill sets all elements of x to v.
func Fill[T Float](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}
