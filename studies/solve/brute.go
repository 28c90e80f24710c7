package solve

import (
	"math"

	"github.com/clustergym/clustergym/internal/kernel"
)

// BruteForce tries all joint choices without conflicts and so finds the best: the oracle for small problems. It prunes choices
// that cannot exceed the best so far even if every later agent had its best item and the best payoffs. It still takes up to
// (K+1)^n steps.
type BruteForce[T kernel.Float] struct {
	view[T]
	rest  []float64 // [n+1] upper bound on what agents i and later add
	trial []int
	best  float64
}

// Solve implements Solver.
func (s *BruteForce[T]) Solve(p *Problem[T], choice []int) float64 {
	s.look(p, choice)
	s.reset()
	s.rest, s.trial, s.best = zeros(s.rest, s.n+1), grow(s.trial, s.n), math.Inf(-1)
	for i := s.n - 1; i >= 0; i-- {
		most := math.Inf(-1)
		for slot, u := range s.row(s.w, i) {
			if !math.IsInf(u, -1) {
				most = max(most, u+s.most(i, slot))
			}
		}
		s.rest[i] = s.rest[i+1] + most
	}
	s.try(0, 0, choice)
	return s.sum(choice)
}

// most returns an upper bound on the payoffs of a slot with earlier agents.
func (s *BruteForce[T]) most(i, slot int) float64 {
	if slot == 0 {
		return 0
	}
	sum := 0.0
	for e, to := s.edges(i); e < to; e++ {
		if int(s.p.Graph.To[e]) > i {
			continue
		}
		high := 0.0
		for _, f := range s.payoffRow(i, e, slot-1) {
			high = max(high, f)
		}
		sum += high
	}
	return sum
}

// try completes the trial from agent i on.
func (s *BruteForce[T]) try(i int, value float64, choice []int) {
	if value+s.rest[i] <= s.best {
		return
	}
	if i == s.n {
		s.best = value
		copy(choice, s.trial)
		return
	}
	for slot, u := range s.row(s.w, i) {
		if math.IsInf(u, -1) || !s.open(i, int32(slot)) {
			continue
		}
		gain := u
		if slot > 0 {
			for e, to := s.edges(i); e < to; e++ {
				if j := int(s.p.Graph.To[e]); j < i && s.trial[j] != NoOp {
					gain += s.payoff(i, e, slot-1, s.trial[j])
				}
			}
		}
		t := s.task(i, int32(slot))
		s.take(i, int32(slot))
		s.trial[i] = slot - 1
		s.try(i+1, value+gain, choice)
		if t >= 0 {
			s.left[t]++
		}
	}
}
