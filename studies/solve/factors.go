package solve

import (
	"math"

	"github.com/clustergym/clustergym/internal/kernel"
)

// TaskFactors is max-product with one factor per task. Agents tell tasks how much they would lose without them; tasks tell
// agents what they would displace, which is a price. It ignores payoffs; without payoffs it finds the best choice if that is
// unique (Bayati, Shah and Sharma, IEEE Transactions on Information Theory 54(3), 2008), after a number of iterations that grows
// with the span of the utilities divided by the lead of the best choice. With equal agents there is no unique best choice, and
// they all change their minds together. It fills what the agents' claims leave open as Greedy does, so choices never conflict.
type TaskFactors[T kernel.Float] struct {
	Iterations int     // largest number; ends earlier when no message changes; 0 stands for 30
	Damping    float64 // fraction of its last value that a price keeps, 0..1

	view[T]
	decoder
	price []float64 // [n*slots] what tasks tell agents, at most 0
	bids  []float64 // [n*slots] utilities and prices
	first []int32   // [tasks+1] range in loss of each task: the capacity+1 largest losses of agents, descending
	loss  []float64
	agent []int32 // by element of loss: the agent
}

// Solve implements Solver.
func (s *TaskFactors[T]) Solve(p *Problem[T], choice []int) float64 {
	s.look(p, choice)
	s.price, s.bids = zeros(s.price, len(s.w)), append(s.bids[:0], s.w...)
	s.first = append(s.first[:0], 0)
	for _, c := range p.Capacity {
		s.first = append(s.first, s.first[len(s.first)-1]+min(max(c, 0), int32(s.n))+1)
	}
	places := int(s.first[len(s.first)-1])
	s.loss, s.agent = grow(s.loss, places), grow(s.agent, places)
	iterations := s.Iterations
	if iterations == 0 {
		iterations = 30
	}
	for range iterations {
		for k := range s.loss {
			s.loss[k], s.agent[k] = math.Inf(-1), -1
		}
		for i := range s.n {
			s.tell(i)
		}
		if !s.hear() {
			break
		}
	}
	return s.readOff(choice)
}

// readOff lets agents claim the tasks that the messages suggest. If too many claim a task, those of highest utility get it. The
// losers, and the agents that claimed nothing, choose from what is left as in Greedy.
func (s *TaskFactors[T]) readOff(choice []int) float64 {
	s.argmax(choice, s.bids)
	s.value(choice)
	s.decoder.bids = append(s.decoder.bids[:0], s.w...)
	for i, a := range s.settled {
		if a != NoOp {
			s.decoder.bids[i*s.slots+a+1] = math.Inf(1)
		}
	}
	decode(&s.view, &s.decoder, choice, nil)
	return s.sum(choice)
}

// tell computes what agent i would lose without each task: its utility minus its best bid on anything else.
func (s *TaskFactors[T]) tell(i int) {
	w, bids := s.row(s.w, i), s.row(s.bids, i)
	at := 0
	for k, b := range bids {
		if b > bids[at] {
			at = k
		}
	}
	task, second := s.task(i, int32(at)), math.Inf(-1)
	for k, b := range bids {
		if s.task(i, int32(k)) != task {
			second = max(second, b)
		}
	}
	for k, u := range w {
		t := s.task(i, int32(k))
		if t < 0 || math.IsInf(u, -1) {
			continue
		}
		other := bids[at]
		if t == task {
			other = second
		}
		s.enter(t, int32(i), u-other)
	}
}

// enter puts a loss of an agent among the largest of a task, at most once per agent.
func (s *TaskFactors[T]) enter(t, i int32, loss float64) {
	losses, agents := s.loss[s.first[t]:s.first[t+1]], s.agent[s.first[t]:s.first[t+1]]
	last := len(losses) - 1
	if loss <= losses[last] {
		return
	}
	at := last
	for k, a := range agents {
		if a == i {
			at = k
		}
	}
	if agents[at] == i && losses[at] >= loss {
		return
	}
	for ; at > 0 && losses[at-1] < loss; at-- {
		losses[at], agents[at] = losses[at-1], agents[at-1]
	}
	losses[at], agents[at] = loss, i
}

// hear sets the prices: to get a task with c places, an agent must displace the c-th of the others.
func (s *TaskFactors[T]) hear() (changed bool) {
	for i := range s.n {
		w, price, bids := s.row(s.w, i), s.row(s.price, i), s.row(s.bids, i)
		for k := range price {
			t := s.task(i, int32(k))
			if t < 0 || math.IsInf(w[k], -1) {
				continue
			}
			displaced := s.first[t+1] - 2
			for r := s.first[t]; r <= displaced; r++ {
				if s.agent[r] == int32(i) {
					displaced++
					break
				}
			}
			next := s.Damping*price[k] - (1-s.Damping)*max(0, s.loss[displaced])
			if next != price[k] {
				price[k], changed = next, true
				bids[k] = w[k] + next
			}
		}
	}
	return changed
}
