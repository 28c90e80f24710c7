package critic

import (
	"math"

	"github.com/clustergym/clustergym/agents"
)

// Scale is the running mean and standard deviation of what a network learns. The network's number n stands for the value mean +
// deviation*n. The zero Scale has seen nothing; its mean is 0 and its deviation 1.
type Scale struct {
	Mean    float64 `json:"mean"`
	Square  float64 `json:"square"` // running mean of the squares
	Updates int     `json:"updates"`
}

// recent is the number of updates over which a Scale averages, once there are so many.
const recent = 10

// Deviation returns the standard deviation, which is above 0.
func (s *Scale) Deviation() float64 {
	if s.Updates == 0 {
		return 1
	}
	return math.Sqrt(max(s.Square-s.Mean*s.Mean, 0)) + 1e-8
}

// Value returns the value that the network's number stands for, and Number the reverse.
func (s *Scale) Value(number float64) float64 { return s.Mean + s.Deviation()*number }

// Number returns the number that stands for a value.
func (s *Scale) Number(value float64) float64 { return (value - s.Mean) / s.Deviation() }

// Adapt adds the values of an update, of which there must be at least one. It changes the last layer of the network so that the
// value of every state stays what it was (PopArt; van Hasselt et al., Learning values across many orders of magnitude, 2016);
// before the first update the network has no values to keep.
func (s *Scale) Adapt(p agents.Params, values []float64) {
	was := *s
	mean, square := 0.0, 0.0
	for _, x := range values {
		mean += x / float64(len(values))
		square += x * x / float64(len(values))
	}
	s.Updates++
	part := 1 / float64(min(s.Updates, recent))
	s.Mean += part * (mean - s.Mean)
	s.Square += part * (square - s.Square)
	if was.Updates == 0 {
		return
	}
	at, ratio := find(p, valueLayer), was.Deviation()/s.Deviation()
	for i, w := range p[at].Data {
		p[at].Data[i] = float32(float64(w) * ratio)
	}
	b := p[at+1].Data
	b[0] = float32(s.Number(was.Value(float64(b[0]))))
}
