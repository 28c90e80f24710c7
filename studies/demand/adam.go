package demand

import (
	"math"
)

// Adam's constants (Kingma and Ba, 2015).
const (
	beta1 = 0.9
	beta2 = 0.999
	eps   = 1e-8
)

// maxNorm is the largest norm of the gradient of a batch, so that a single burst does not move the weights far (Pascanu et al.,
// ICML 2013).
const maxNorm = 1.0

// adam contains the moments of the gradient, in the layout of the trained weights one after another. This package implements
// Adam itself because Gorgonia's solver bounds each component of a gradient and not its norm, which changes its direction.
type adam struct {
	m, v  []float64
	steps int
}

func newAdam(size int) *adam { return &adam{m: make([]float64, size), v: make([]float64, size)} }

// step moves the weights of n against the gradient, after bounding its norm.
func (a *adam) step(n *LSTM, grad []float64, rate float64) {
	square := 0.0
	for _, g := range grad {
		square += g * g
	}
	scale := min(1, maxNorm/(math.Sqrt(square)+1e-12))
	a.steps++
	fix1, fix2 := 1-math.Pow(beta1, float64(a.steps)), 1-math.Pow(beta2, float64(a.steps))
	at := 0
	for _, w := range trained(n) {
		for i := range w.data {
			g := grad[at] * scale
			a.m[at] = beta1*a.m[at] + (1-beta1)*g
			a.v[at] = beta2*a.v[at] + (1-beta2)*g*g
			w.data[i] -= rate * (a.m[at] / fix1) / (math.Sqrt(a.v[at]/fix2) + eps)
			at++
		}
	}
}
