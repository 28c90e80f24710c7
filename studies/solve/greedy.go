package solve

import (
	"math"

	"github.com/clustergym/clustergym/internal/kernel"
)

// Greedy repeatedly commits the (agent, item) pair with the highest gain over NoOp in the whole problem, until no pair gains.
// After each commit it closes the task if its last place is taken, and adds the payoffs to the bids of the neighbours. Choices
// never conflict. It costs O(n*K) at the start and, per commit, O(K*rank) per neighbour and O(K) per agent whose best item is
// gone.
type Greedy[T kernel.Float] struct {
	view[T]
	decoder
}

// Solve implements Solver.
func (s *Greedy[T]) Solve(p *Problem[T], choice []int) float64 {
	s.look(p, choice)
	s.bids = append(s.bids[:0], s.w...)
	decode(&s.view, &s.decoder, choice, nil)
	return s.sum(choice)
}

// decoder is a heap of undecided agents by the gain of their best slot. A gain may be out of date because a task has closed
// since. It is then too high, and is corrected when its agent comes to the top.
type decoder struct {
	bids []float64 // [n*slots]
	slot []int32   // best slot per agent
	gain []float64 // bid of the best item minus that of NoOp; if it is not positive, the best slot is NoOp
	heap []int32
	at   []int32 // by agent: its index in heap; -1 once it has decided
}

// decode commits slots by gain. messages, if not nil, is [edges*slots]; a neighbour's bids contain an agent's message until that
// agent decides, and then the payoffs of its choice.
func decode[T kernel.Float](v *view[T], d *decoder, choice []int, messages []T) {
	v.reset()
	d.slot, d.gain, d.at = grow(d.slot, v.n), grow(d.gain, v.n), grow(d.at, v.n)
	d.heap = d.heap[:0]
	for i := range v.n {
		rate(v, d, i)
		d.heap = append(d.heap, int32(i))
		d.at[i] = int32(i)
	}
	for k := v.n/2 - 1; k >= 0; k-- {
		d.down(k)
	}
	for len(d.heap) > 0 {
		i := int(d.heap[0])
		slot := d.slot[i]
		if !v.open(i, slot) {
			rate(v, d, i)
			d.down(0)
			continue
		}
		d.pop()
		v.take(i, slot)
		choice[i] = int(slot) - 1
		for e, to := v.edges(i); e < to; e++ {
			j := int(v.p.Graph.To[e])
			if d.at[j] < 0 || slot == 0 && messages == nil {
				continue
			}
			v.addPayoffs(d.bids, i, e, slot)
			if messages != nil {
				for s, m := range messages[int(e)*v.slots:][:v.slots] {
					d.bids[j*v.slots+s] -= float64(m)
				}
			}
			rate(v, d, j)
			d.up(int(d.at[j]))
			d.down(int(d.at[j]))
		}
	}
}

// rate finds the best open slot of agent i and its gain.
func rate[T kernel.Float](v *view[T], d *decoder, i int) {
	bids := v.row(d.bids, i)
	at, bid := int32(0), math.Inf(-1)
	for s := 1; s < len(bids); s++ {
		if bids[s] > bid && v.open(i, int32(s)) {
			at, bid = int32(s), bids[s]
		}
	}
	d.gain[i] = bid - bids[0]
	if d.gain[i] <= 0 {
		at = 0
	}
	d.slot[i] = at
}

// before reports whether the agent at index a of the heap comes before that at index b.
func (d *decoder) before(a, b int) bool {
	i, j := d.heap[a], d.heap[b]
	return d.gain[i] > d.gain[j] || d.gain[i] == d.gain[j] && i < j
}

func (d *decoder) swap(a, b int) {
	d.heap[a], d.heap[b] = d.heap[b], d.heap[a]
	d.at[d.heap[a]], d.at[d.heap[b]] = int32(a), int32(b)
}

// pop removes the agent at the top.
func (d *decoder) pop() {
	last := len(d.heap) - 1
	first := d.heap[0]
	d.swap(0, last)
	d.heap = d.heap[:last]
	d.at[first] = -1
	if last > 0 {
		d.down(0)
	}
}

func (d *decoder) up(k int) {
	for k > 0 && d.before(k, (k-1)/2) {
		d.swap(k, (k-1)/2)
		k = (k - 1) / 2
	}
}

func (d *decoder) down(k int) {
	for {
		first := k
		for c := 2*k + 1; c <= 2*k+2 && c < len(d.heap); c++ {
			if d.before(c, first) {
				first = c
			}
		}
		if first == k {
			return
		}
		d.swap(k, first)
		k = first
	}
}
