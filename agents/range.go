package agents

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/checkpoints"
)

// Range contains the smallest and the largest value of every feature in training, as pairs: first of servers, then of jobs, then
// of candidates. A nil Range has no bounds.
type Range []float32

// Limits beyond which a policy leaves a choice to its prior.
const (
	outOfDistribution = 0.05 // largest fraction of an observation's numbers that may lie outside the range
	slack             = 0.05 // tolerance on either side, as a fraction of a feature's range
)

// rows calls visit with every feature of the observation and its index in a Range.
func (o *Observation) rows(s *Shape, visit func(at int, x float32)) {
	first := 0
	for _, table := range []struct {
		data  []float32
		width int
	}{{o.Server, s.Server}, {o.Job, s.Job}, {o.Candidate, s.Candidate}} {
		for data := table.data; len(data) > 0; data = data[table.width:] {
			for i, x := range data[:table.width] {
				visit(2*(first+i), x)
			}
		}
		first += table.width
	}
}

// Widen extends the range to include an observation and returns it. It changes r.
func (r Range) Widen(s *Shape, o *Observation) Range {
	if r == nil {
		r = make(Range, 2*(s.Server+s.Job+s.Candidate))
		for i := 0; i < len(r); i += 2 {
			r[i], r[i+1] = 1, -1 // nothing yet
		}
	}
	o.rows(s, func(at int, x float32) {
		if r[at] > r[at+1] {
			r[at], r[at+1] = x, x
		}
		r[at], r[at+1] = min(r[at], x), max(r[at+1], x)
	})
	return r
}

// Outside returns the fraction of an observation's numbers that lie outside the range.
func (r Range) Outside(s *Shape, o *Observation) float64 {
	if r == nil {
		return 0
	}
	n, out := 0, 0
	o.rows(s, func(at int, x float32) {
		low, high := r[at], r[at+1]
		if low > high {
			return // training has not met this feature
		}
		n++
		if room := slack * max(high-low, slack); x < low-room || x > high+room {
			out++
		}
	})
	return float64(out) / float64(max(n, 1))
}

const rangeName = "range"

// Tensors returns the range as tensors for storage, or nil for a nil range.
func (r Range) Tensors() []checkpoints.Tensor {
	if r == nil {
		return nil
	}
	return []checkpoints.Tensor{{Name: rangeName, Shape: []int{len(r)}, Data: []float32(r)}}
}

// RangeFrom returns a copy of the range among tensors, or nil if there is none.
func RangeFrom(s Shape, tensors []checkpoints.Tensor) (Range, error) {
	if !slices.ContainsFunc(tensors, func(t checkpoints.Tensor) bool { return t.Name == rangeName }) {
		return nil, nil
	}
	data, err := checkpoints.Get[float32](tensors, rangeName, 2*(s.Server+s.Job+s.Candidate))
	if err != nil {
		return nil, fmt.Errorf("load range: %w", err)
	}
	return append(Range(nil), data...), nil
}
