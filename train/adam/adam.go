// Package adam is the optimiser of all training. It is implemented here because Gorgonia's solver cannot store its moments, and
// without them training could not resume exactly.
package adam

import (
	"math"

	"github.com/clustergym/clustergym/checkpoints"
)

// Adam's constants (Kingma and Ba, Adam: a method for stochastic optimization, 2015), with the ε that PPO implementations use.
const (
	beta1 = 0.9
	beta2 = 0.999
	eps   = 1e-5
)

// State contains the moments of the gradients of some weights. It is not safe for concurrent use.
type State struct {
	M, V  []float32 // first and second moments, for the weights in order
	Steps int64     // number of steps so far
}

// New returns the state before the first step for n weights.
func New(n int) State { return State{M: make([]float32, n), V: make([]float32, n)} }

// Next counts a step. Call it before the steps of the parts of the weights.
func (s *State) Next() { s.Steps++ }

// Step moves a part of the weights, which begins at the given index of the moments: by Adam at the given rate for scale times the
// gradient, and by rate times decay towards 0 (Loshchilov and Hutter, Decoupled weight decay regularization, 2019).
func (s *State) Step(weights, gradient []float32, at int, scale, rate, decay float64) {
	fix1 := 1 - math.Pow(beta1, float64(s.Steps))
	fix2 := 1 - math.Pow(beta2, float64(s.Steps))
	for j, g := range gradient {
		x, w := float64(g)*scale, float64(weights[j])
		m := beta1*float64(s.M[at+j]) + (1-beta1)*x
		v := beta2*float64(s.V[at+j]) + (1-beta2)*x*x
		s.M[at+j], s.V[at+j] = float32(m), float32(v)
		weights[j] = float32(w - rate*(m/fix1)/(math.Sqrt(v/fix2)+eps) - rate*decay*w)
	}
}

// Tensors returns the moments, which share memory with the state. Load reads them.
func (s *State) Tensors() []checkpoints.Tensor {
	n := len(s.M)
	return []checkpoints.Tensor{
		{Name: "adam.m", Shape: []int{n}, Data: s.M}, {Name: "adam.v", Shape: []int{n}, Data: s.V},
	}
}

// Load copies the moments from tensors that Tensors returned, for as many weights.
func (s *State) Load(tensors []checkpoints.Tensor, steps int64) error {
	for _, t := range s.Tensors() {
		src, err := checkpoints.Get[float32](tensors, t.Name, t.Shape...)
		if err != nil {
			return err
		}
		copy(t.Data.([]float32), src)
	}
	s.Steps = steps
	return nil
}
