package agents

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Param is one named array of weights. A dense layer's weights are [in,out].
type Param struct {
	Name  string
	Shape []int
	Data  []float32
	start start
}

// start is the way a parameter is initialised.
type start uint8

const (
	scaled start = iota // normal with variance 1/in
	unit                // normal with variance 1
	zeros
	ones
)

// Params are the weights in a fixed order.
type Params []Param

// Layout returns the parameters of a network with the given shape, all zero.
func Layout(s Shape) Params {
	var p Params
	add := func(name string, how start, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		p = append(p, Param{name, shape, make([]float32, n), how})
	}
	linear := func(l *Linear, in, out int) {
		add(l.Weight, scaled, in, out)
		add(l.Bias, zeros, out)
	}
	d, m := s.Width, s.Hidden
	linear(&serverLayer, s.Server, d)
	linear(&jobLayer, s.Job, d)
	add(inducingPoints, unit, s.Inducing, d)
	blocks := []*Block{jobsToServers, serversToJobs, inducingToServers, serversToInducing}
	if s.Joint {
		blocks = append(blocks, candidatesToCandidates)
	}
	for _, b := range blocks {
		for _, l := range []*Linear{&b.Query, &b.Key, &b.Value, &b.Out} {
			linear(l, d, d)
		}
		add(b.Gain, ones, d)
		add(b.Bias, zeros, d)
	}
	// The input rows join the candidate's coalition, its job, the mean server, the mean job and the candidate's features.
	linear(&candidateLayer, s.row(), m)
	// The last layers start at zero, so that all bids are exactly 0. They have no bias, because it would add the same to all
	// candidates.
	add(bidWeight, zeros, m, 1)
	if !s.Joint {
		linear(&pairLayer, d, s.Rank)
		add(pairWeight, zeros, s.Rank)
		return p
	}
	linear(&tieLayer, m, s.Rank)
	for _, name := range tieWeights {
		add(name, zeros, s.Rank)
	}
	return p
}

// Init returns randomly initialised weights for an untrained network.
func Init(s Shape, r *rand.Rand) Params {
	p := Layout(s)
	for i := range p {
		switch p[i].start {
		case ones:
			kernel.Fill(p[i].Data, 1)
		case unit:
			kernel.Draw(p[i].Data, 1, r)
		case scaled:
			kernel.Draw(p[i].Data, math.Sqrt(1/float64(p[i].Shape[0])), r)
		}
	}
	return p
}

// Count returns the number of weights.
func (p Params) Count() int {
	n := 0
	for i := range p {
		n += len(p[i].Data)
	}
	return n
}

// Clone returns an independent copy.
func (p Params) Clone() Params {
	c := append(Params(nil), p...)
	for i := range c {
		c[i].Data = append([]float32(nil), c[i].Data...)
	}
	return c
}

// Tensors returns the weights as tensors, which share their data with p.
func (p Params) Tensors() []checkpoints.Tensor {
	t := make([]checkpoints.Tensor, len(p))
	for i := range p {
		t[i] = checkpoints.Tensor{Name: p[i].Name, Shape: p[i].Shape, Data: p[i].Data}
	}
	return t
}

// FromTensors returns a copy of the weights that it finds by name among tensors. It returns an error that names the tensor if one
// is missing, has the wrong shape or contains a number that is not finite.
func FromTensors(s Shape, tensors []checkpoints.Tensor) (Params, error) {
	p := Layout(s)
	for i := range p {
		data, err := checkpoints.Get[float32](tensors, p[i].Name, p[i].Shape...)
		if err != nil {
			return nil, fmt.Errorf("load weights: %w", err)
		}
		copy(p[i].Data, data)
	}
	return p, p.Finite()
}

// Finite returns an error for the first weight that is not a finite number.
func (p Params) Finite() error {
	for i := range p {
		for j, v := range p[i].Data {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return fmt.Errorf("weights %s: number %d is %v, want a finite number", p[i].Name, j, v)
			}
		}
	}
	return nil
}

func (p Params) get(name string) []float32 {
	for i := range p {
		if p[i].Name == name {
			return p[i].Data
		}
	}
	panic("agents: no parameter " + name)
}
