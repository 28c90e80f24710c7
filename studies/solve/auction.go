package solve

import (
	"math"

	"github.com/clustergym/clustergym/internal/kernel"
)

// Auction assigns tasks to agents by Bertsekas' auction with epsilon scaling (Bertsekas, Annals of Operations Research 14,
// 1988). It ignores payoffs; without payoffs its value is at most Slack below the best, and equals the best if the utilities are
// whole numbers and Slack is below 1. It works with equal agents, between which max-product cannot decide; the prices decide
// which of them gets what.
//
// Agents may stay idle and tasks may stay open. The auction therefore runs on a symmetric problem of twice the size: every place
// of a task has a twin, a further bidder that would leave the place open, and every agent has a further object that leaves it
// idle. Twins value these idle objects at 0.
type Auction[T kernel.Float] struct {
	Slack float64 // 0 stands for 1e-4 of the most that one agent can gain

	view[T]
	first   []int32   // [tasks+1] the places of task t are the objects first[t]..first[t+1]
	price   []float64 // of places, then of the agents' idle objects
	owner   []int32   // by object: the person that has it; -1: none
	holds   []int32   // by person (agents first, then the twins of the places): its object
	slot    []int32   // [n] the slot for which an agent wants its object
	outside []int32   // [n] best slot without a task
	queue   []int32
}

// Solve implements Solver.
func (s *Auction[T]) Solve(p *Problem[T], choice []int) float64 {
	s.look(p, choice)
	span := s.layOut()
	persons := len(s.holds)
	slack := s.Slack
	if slack <= 0 {
		slack = 1e-4 * span
	}
	// A result is within persons*epsilon of the best; half of Slack is reserved for rounding. Smaller steps would not change
	// prices.
	last := max(slack/float64(2*max(1, persons)), 1e-12*span)
	for epsilon := max(span/2, last); span > 0; epsilon = max(epsilon/5, last) {
		s.round(epsilon, span)
		if epsilon == last {
			break
		}
	}
	for i := range choice {
		slot := s.outside[i]
		if span > 0 && int(s.holds[i]) < s.places() {
			slot = s.slot[i]
		}
		choice[i] = int(slot) - 1
	}
	return s.sum(choice)
}

func (s *Auction[T]) places() int { return int(s.first[len(s.first)-1]) }

// layOut numbers the objects and returns the most that any agent can gain from a task.
func (s *Auction[T]) layOut() float64 {
	s.first = append(s.first[:0], 0)
	for _, c := range s.p.Capacity {
		s.first = append(s.first, s.first[len(s.first)-1]+min(max(c, 0), int32(s.n)))
	}
	objects := s.places() + s.n
	s.price, s.owner, s.holds = zeros(s.price, objects), grow(s.owner, objects), grow(s.holds, objects)
	s.slot, s.outside = zeros(s.slot, s.n), zeros(s.outside, s.n)
	span := 0.0
	for i := range s.n {
		w := s.row(s.w, i)
		for a, x := range w {
			if s.task(i, int32(a)) < 0 && x > w[s.outside[i]] {
				s.outside[i] = int32(a)
			}
		}
		for a, x := range w {
			if s.task(i, int32(a)) >= 0 {
				span = max(span, x-w[s.outside[i]])
			}
		}
	}
	return span
}

// round runs one auction, beginning with the prices of the one before.
func (s *Auction[T]) round(epsilon, span float64) {
	s.queue = s.queue[:0]
	for i := range s.holds {
		s.owner[i], s.holds[i] = -1, -1
		s.queue = append(s.queue, int32(len(s.holds)-1-i))
	}
	for len(s.queue) > 0 {
		person := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		var object int32
		var rise float64
		if int(person) < s.n {
			object, rise = s.bid(int(person))
		} else {
			object, rise = s.bidTwin(person - int32(s.n))
		}
		s.price[object] += min(rise, span) + epsilon
		if loser := s.owner[object]; loser >= 0 {
			s.holds[loser] = -1
			s.queue = append(s.queue, loser)
		}
		s.owner[object], s.holds[person] = person, object
	}
}

// bid returns the object that gives agent i the most profit, and by how much more than the second best.
func (s *Auction[T]) bid(i int) (object int32, rise float64) {
	w, places := s.row(s.w, i), s.places()
	object = int32(places + i)
	base := w[s.outside[i]]
	best, second := -s.price[object], math.Inf(-1)
	for a := 1; a < len(w); a++ {
		t := s.task(i, int32(a))
		if t < 0 || w[a] <= base { // an item that loses against being idle is in no best choice
			continue
		}
		for c := s.first[t]; c < s.first[t+1]; c++ {
			if profit := w[a] - base - s.price[c]; profit > best {
				best, second, object, s.slot[i] = profit, best, c, int32(a)
			} else {
				second = max(second, profit)
			}
		}
	}
	return object, best - second
}

// bidTwin does the same as bid for the twin of a place, which values its place and every idle object at 0.
func (s *Auction[T]) bidTwin(place int32) (object int32, rise float64) {
	object = place
	best, second := -s.price[place], math.Inf(-1)
	for c := s.places(); c < len(s.price); c++ {
		if profit := -s.price[c]; profit > best {
			best, second, object = profit, best, int32(c)
		} else {
			second = max(second, profit)
		}
	}
	return object, best - second
}
