package solve

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/clustergym/clustergym/internal/kernel"
)

// Independent lets each agent choose its best item for itself. It ignores payoffs and tasks, so agents may claim the same task.
type Independent[T kernel.Float] struct{ view[T] }

// Solve implements Solver.
func (s *Independent[T]) Solve(p *Problem[T], choice []int) float64 {
	s.look(p, choice)
	s.argmax(choice, s.w)
	value, _ := s.value(choice)
	return value
}

// argmax chooses each agent's best slot of bids [n*slots], whether or not its task is taken.
func (v *view[T]) argmax(choice []int, bids []float64) {
	for i := range choice {
		at := 0
		row := v.row(bids, i)
		for s, b := range row {
			if b > row[at] {
				at = s
			}
		}
		choice[i] = at - 1
	}
}

// Repair lets each agent choose for itself. If too many agents claim a task, those of highest utility keep it; the others choose
// again from what is left, until all have chosen. It ignores payoffs.
type Repair[T kernel.Float] struct {
	view[T]
	undecided []int32
}

// Solve implements Solver.
func (s *Repair[T]) Solve(p *Problem[T], choice []int) float64 {
	s.look(p, choice)
	s.reset()
	s.undecided = s.undecided[:0]
	for i := range s.n {
		s.undecided = append(s.undecided, int32(i))
	}
	for len(s.undecided) > 0 {
		for _, i := range s.undecided {
			choice[i] = int(s.best(int(i), s.row(s.w, int(i)))) - 1
		}
		slices.SortFunc(s.undecided, func(i, j int32) int {
			return cmp.Or(cmp.Compare(s.chosen(j, choice), s.chosen(i, choice)), cmp.Compare(i, j))
		})
		lost := s.undecided[:0]
		for _, i := range s.undecided {
			if slot := int32(choice[i] + 1); s.open(int(i), slot) {
				s.take(int(i), slot)
			} else {
				lost = append(lost, i)
			}
		}
		s.undecided = lost
	}
	return s.sum(choice)
}

// Sequential lets one agent after another choose the best of what the earlier ones left, counting the payoffs with their
// choices. Choices never conflict.
type Sequential[T kernel.Float] struct {
	Order []int      // [n] the agents in the order in which they choose; nil: by index
	Rand  *rand.Rand // if not nil, shuffles the order for each call

	view[T]
	turn []int
	bids []float64
}

// Solve implements Solver.
func (s *Sequential[T]) Solve(p *Problem[T], choice []int) float64 {
	s.look(p, choice)
	s.reset()
	if s.Order != nil && len(s.Order) != s.n {
		panic(fmt.Sprintf("solve: an order of %d agents, want %d", len(s.Order), s.n))
	}
	s.turn = append(s.turn[:0], s.Order...)
	for i := len(s.turn); i < s.n; i++ {
		s.turn = append(s.turn, i)
	}
	if s.Rand != nil {
		s.Rand.Shuffle(s.n, func(a, b int) { s.turn[a], s.turn[b] = s.turn[b], s.turn[a] })
	}
	s.bids = append(s.bids[:0], s.w...)
	for _, i := range s.turn {
		slot := s.best(i, s.row(s.bids, i))
		s.take(i, slot)
		choice[i] = int(slot) - 1
		for e, to := s.edges(i); e < to; e++ {
			s.addPayoffs(s.bids, i, e, slot) // without effect for agents that have already chosen
		}
	}
	return s.sum(choice)
}
