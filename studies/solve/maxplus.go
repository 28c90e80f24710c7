package solve

import (
	"math"

	"github.com/clustergym/clustergym/internal/kernel"
)

// MaxPlus sends messages along the edges: the most that the sender's side can gain with each choice of the receiver. Each agent
// then chooses by its utility and the messages that it received. It is exact on trees after as many iterations as the tree's
// diameter, and has no guarantee on other graphs (Kok and Vlassis, JMLR 7, 2006; in learned graphs: Boehmer et al., ICML 2020).
// Unless Decode is set it ignores tasks, so agents may claim the same one.
type MaxPlus[T kernel.Float] struct {
	Iterations int     // largest number of iterations; ends earlier when no message changes; 0 stands for 8
	Damping    float64 // fraction of its last value that a message keeps, 0..1
	Async      bool    // agents send in turn and use the messages of this iteration; otherwise all send at once
	Anytime    bool    // keep the best choice of all iterations, by Value, not the last
	Normalise  bool    // subtract from a message its mean over the receiver's legal choices, so that messages do not grow in loops
	Decode     bool    // read choices off one after another, as Greedy does, with the messages in the bids: no conflicts

	view[T]
	decoder
	messages []T       // [edges*slots]
	total    []float64 // [n*slots] utilities and all messages
	x        []float64 // [slots] values of the sender's slots without the receiver
	out      [2][]float64
	kept     []int
}

// Solve implements Solver.
func (s *MaxPlus[T]) Solve(p *Problem[T], choice []int) float64 {
	s.look(p, choice)
	edges := 0
	if p.Graph != nil {
		edges = len(p.Graph.To)
	}
	s.messages, s.x = zeros(s.messages, edges*s.slots), grow(s.x, s.slots)
	s.out[0], s.out[1] = grow(s.out[0], s.slots), grow(s.out[1], s.slots)
	s.total = append(s.total[:0], s.w...)
	iterations := s.Iterations
	if iterations == 0 {
		iterations = 8
	}
	var best float64
	if s.Anytime {
		best = s.readOff(choice)
		s.kept = append(s.kept[:0], choice...)
	}
	sweep := s.together
	if s.Async {
		sweep = s.inTurn
	}
	for range iterations {
		changed := sweep()
		s.addUp()
		if s.Anytime {
			if value := s.readOff(choice); value > best {
				best = value
				copy(s.kept, choice)
			}
		}
		if !changed {
			break
		}
	}
	if s.Anytime {
		copy(choice, s.kept)
		return best
	}
	return s.readOff(choice)
}

// readOff chooses by the messages so far and returns the value.
func (s *MaxPlus[T]) readOff(choice []int) float64 {
	if s.Decode {
		s.bids = append(s.bids[:0], s.total...)
		decode(&s.view, &s.decoder, choice, s.messages)
		return s.sum(choice)
	}
	s.argmax(choice, s.total)
	value, _ := s.value(choice)
	return value
}

// addUp computes the totals from the messages.
func (s *MaxPlus[T]) addUp() {
	copy(s.total, s.w)
	for i := range s.n {
		for e, to := s.edges(i); e < to; e++ {
			total := s.row(s.total, int(s.p.Graph.To[e]))
			for k, m := range s.sent(e) {
				total[k] += float64(m)
			}
		}
	}
}

// sent returns the message along edge e.
func (s *MaxPlus[T]) sent(e int32) []T { return s.messages[int(e)*s.slots:][:s.slots] }

// together sends every message once, from the totals before. The messages in the two directions of an edge must not depend on
// each other, so together computes both before it stores either.
func (s *MaxPlus[T]) together() (changed bool) {
	for i := range s.n {
		for e, to := s.edges(i); e < to; e++ {
			j := int(s.p.Graph.To[e])
			if j < i {
				continue
			}
			s.compute(s.out[0], i, e)
			s.compute(s.out[1], j, s.reverse[e])
			there := s.store(s.out[0], j, e, nil)
			back := s.store(s.out[1], i, s.reverse[e], nil)
			changed = changed || there || back
		}
	}
	return changed
}

// inTurn sends every message once, from totals that it keeps up to date.
func (s *MaxPlus[T]) inTurn() (changed bool) {
	for i := range s.n {
		for e, to := s.edges(i); e < to; e++ {
			j := int(s.p.Graph.To[e])
			s.compute(s.out[0], i, e)
			news := s.store(s.out[0], j, e, s.row(s.total, j))
			changed = changed || news
		}
	}
	return changed
}

// compute computes the message of agent i along edge e, from all that i knows except the message in the opposite direction.
func (s *MaxPlus[T]) compute(dst []float64, i int, e int32) {
	back := s.sent(s.reverse[e])
	for k, total := range s.row(s.total, i) {
		s.x[k] = total - float64(back[k])
	}
	s.message(dst, s.x, i, e)
}

// store stores a new message to agent j, and adds the change to total unless that is nil.
func (s *MaxPlus[T]) store(message []float64, j int, e int32, total []float64) (changed bool) {
	mean := 0.0
	if s.Normalise {
		mean = meanLegal(message, s.row(s.w, j))
	}
	old := s.sent(e)
	for k, m := range message {
		m = s.Damping*float64(old[k]) + (1-s.Damping)*(m-mean)
		if next := T(m); next != old[k] {
			if total != nil {
				total[k] += float64(next) - float64(old[k])
			}
			old[k], changed = next, true
		}
	}
	return changed
}

// meanLegal returns the mean of x over slots with a utility above -Inf. The slot of NoOp is always one.
func meanLegal(x, w []float64) float64 {
	sum, count := 0.0, 0
	for k, u := range w {
		if !math.IsInf(u, -1) {
			sum += x[k]
			count++
		}
	}
	return sum / float64(count)
}
