package agents

import (
	"fmt"

	"github.com/clustergym/clustergym/checkpoints"
)

// Range holds the least and the greatest value that a policy has met of every feature in training: of servers, then of jobs,
// then of candidates, [2] each. nil has met nothing and knows no bounds.
type Range []float32

// Limits of what a policy decides by itself.
const (
	outOfDistribution = 0.05 // part of an observation's numbers that may lie beyond the range
	slack             = 0.05 // of a feature's range on either side, beyond which a number counts as such
)

// rows calls visit with every feature of the observation and its place in a Range.
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

// Widen returns the range with an observation in it; r is changed.
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

// Outside returns the part of an observation's numbers that lie beyond the range.
func (r Range) Outside(s *Shape, o *Observation) float64 {
	if r == nil {
		return 0
	}
	n, out := 0, 0
	o.rows(s, func(at int, x float32) {
		low, high := r[at], r[at+1]
		if low > high {
			return // nothing is known of it
		}
		n++
		if room := slack * max(high-low, slack); x < low-room || x > high+room {
			out++
		}
	})
	return float64(out) / float64(max(n, 1))
}

const rangeName = "range"

// Tensors returns the range for storage, none for nil.
func (r Range) Tensors() []checkpoints.Tensor {
	if r == nil {
		return nil
	}
	return []checkpoints.Tensor{{Name: rangeName, Shape: []int{len(r)}, Data: []float32(r)}}
}

// RangeFrom returns the range among tensors, copied; nil if there is none.
func RangeFrom(s Shape, tensors []checkpoints.Tensor) (Range, error) {
	for i := range tensors {
		if tensors[i].Name != rangeName {
			continue
		}
		data, err := checkpoints.Get[float32](tensors, rangeName, 2*(s.Server+s.Job+s.Candidate))
		if err != nil {
			return nil, fmt.Errorf("load range: %w", err)
		}
		return append(Range(nil), data...), nil
	}
	return nil, nil
}
