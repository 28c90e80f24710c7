// Package solve chooses one item for each of many agents at once. Agents value their items, linked agents have joint payoffs,
// and items may stand for tasks that only a limited number of agents can have. One interface contains the usual methods: each
// agent for itself, one after another, by auction, by messages, exactly on trees, and by trying everything.
//
// The package is plain mathematics and independent of clusters, and no policy uses it. It cannot express gangs that take exactly
// g agents or none: a capacity is an upper bound. studies/coordination.md compares the solvers.
package solve

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/internal/kernel"
)

// NoOp stands for an agent's choice of no item. It is always legal and has no payoff with anything.
const NoOp = -1

// Problem describes what the agents choose from. The slices are borrowed; solvers do not write to them.
//
// The value of a joint choice without conflicts is the sum of the utilities of the chosen items, of Idle for agents with NoOp,
// and of the payoffs of linked agents, each edge counted once.
type Problem[T kernel.Float] struct {
	Agents, Items int
	Utility       []T // [n*K] item a of agent i at i*K+a; -Inf or NaN: the item is illegal
	Idle          []T // [n] utility of NoOp; nil means 0

	Graph   *Graph[T]   // which agents are linked; nil means none
	Payoffs *Payoffs[T] // payoffs of low rank on the edges of Graph; nil means none
	Pair    Pair[T]     // payoffs on the edges of Graph that are not of low rank, not gated; nil means none

	Task     []int32 // [n*K] the task that an item stands for, -1 for none; nil: no item stands for a task
	Capacity []int32 // [tasks] how many agents may choose a task; with 0 its items are illegal
}

// Solver finds a joint choice of high value.
type Solver[T kernel.Float] interface {
	// Solve writes an item or NoOp per agent to choice [n] and returns Value(p, choice). It never chooses illegal items. It is
	// deterministic; ties go to NoOp, then to the lower item, then to the lower agent, except in Auction. It keeps its memory for
	// the next call, so one goroutine at a time may use a solver. It panics if the parts of p do not match.
	Solve(p *Problem[T], choice []int) float64
}

// Value returns the value of a joint choice after settling its conflicts: of the agents that claim one task, those of highest
// utility get it, and the others get NoOp.
func Value[T kernel.Float](p *Problem[T], choice []int) float64 {
	var v view[T]
	v.look(p, choice)
	value, _ := v.value(choice)
	return value
}

// Conflicts returns how many agents claim a task beyond its capacity.
func Conflicts[T kernel.Float](p *Problem[T], choice []int) int {
	var v view[T]
	v.look(p, choice)
	_, conflicts := v.value(choice)
	return conflicts
}

// view is a problem in the form that solvers use. Slot 0 of an agent is NoOp, slot a+1 is item a.
type view[T kernel.Float] struct {
	p        *Problem[T]
	n, slots int
	w        []float64   // [n*slots] utilities, -Inf where illegal
	reverse  []int32     // the opposite direction of each edge
	same     Diagonal[T] // the payoffs, if all are between equal items

	left    []int32 // places left of each task
	order   []int32
	settled []int
	payoffs []float64 // [K] one row
}

// look prepares a problem. It panics unless the parts of the problem, and choice, match.
func (v *view[T]) look(p *Problem[T], choice []int) {
	n, k := p.Agents, p.Items
	if len(p.Utility) != n*k || p.Idle != nil && len(p.Idle) != n || len(choice) != n || p.Task != nil && len(p.Task) != n*k {
		panic(fmt.Sprintf("solve: %d agents with %d items, but %d utilities, %d idle, %d choices, %d tasks",
			n, k, len(p.Utility), len(p.Idle), len(choice), len(p.Task)))
	}
	if p.Graph != nil && p.Graph.Agents != n {
		panic(fmt.Sprintf("solve: a graph of %d agents, want %d", p.Graph.Agents, n))
	}
	if f := p.Payoffs; f != nil && (f.Agents != n || f.Items != k || len(f.Q) != n*k*len(f.D)) {
		panic(fmt.Sprintf("solve: payoffs of %d agents, %d items, rank %d with %d factors, want %d agents, %d items",
			f.Agents, f.Items, len(f.D), len(f.Q), n, k))
	}
	for _, t := range p.Task {
		if int(t) >= len(p.Capacity) {
			panic(fmt.Sprintf("solve: task %d without a capacity, there are %d", t, len(p.Capacity)))
		}
	}
	v.p, v.n, v.slots = p, n, k+1
	v.w = grow(v.w, n*v.slots)
	for i := range n {
		w := v.w[i*v.slots:][:v.slots]
		w[0] = 0
		if p.Idle != nil {
			w[0] = finite(float64(p.Idle[i]), "idle utility")
		}
		for a, u := range p.Utility[i*k:][:k] {
			w[a+1] = float64(u)
			if u != u || math.IsInf(float64(u), -1) || p.Task != nil && p.Task[i*k+a] >= 0 && p.Capacity[p.Task[i*k+a]] <= 0 {
				w[a+1] = math.Inf(-1)
			} else {
				finite(float64(u), "utility")
			}
		}
	}
	v.payoffs = grow(v.payoffs, k)
	v.link()
}

// finite returns x. It panics unless x is finite.
func finite(x float64, name string) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		panic(fmt.Sprintf("solve: %s is %g, want a finite number", name, x))
	}
	return x
}

// row returns the slots of agent i in x.
func (v *view[T]) row(x []float64, i int) []float64 { return x[i*v.slots:][:v.slots] }

// task returns the task of a slot, or -1.
func (v *view[T]) task(i int, slot int32) int32 {
	if slot == 0 || v.p.Task == nil {
		return -1
	}
	return max(-1, v.p.Task[i*v.p.Items+int(slot)-1])
}

// reset restores the capacity of every task.
func (v *view[T]) reset() { v.left = append(v.left[:0], v.p.Capacity...) }

// open reports whether an agent can still take the slot: it has no task, or its task has a place left.
func (v *view[T]) open(i int, slot int32) bool {
	t := v.task(i, slot)
	return t < 0 || v.left[t] > 0
}

// take uses up one place of the task of a slot, if any.
func (v *view[T]) take(i int, slot int32) {
	if t := v.task(i, slot); t >= 0 {
		v.left[t]--
	}
}

// best returns the open slot of highest bid, the lowest on a tie.
func (v *view[T]) best(i int, bids []float64) int32 {
	at := int32(0)
	for s, b := range bids {
		if b > bids[at] && v.open(i, int32(s)) {
			at = int32(s)
		}
	}
	return at
}

// value settles the conflicts of a choice in v.settled. It returns the value, and how many agents claimed a task in vain.
func (v *view[T]) value(choice []int) (value float64, conflicts int) {
	v.settled = append(v.settled[:0], choice...)
	if v.p.Task != nil {
		v.reset()
		v.order = v.order[:0]
		for i, a := range choice {
			if v.task(i, int32(a+1)) >= 0 {
				v.order = append(v.order, int32(i))
			}
		}
		slices.SortFunc(v.order, func(i, j int32) int {
			return cmp.Or(cmp.Compare(v.chosen(j, choice), v.chosen(i, choice)), cmp.Compare(i, j))
		})
		for _, i := range v.order {
			if slot := int32(choice[i] + 1); v.open(int(i), slot) {
				v.take(int(i), slot)
			} else {
				v.settled[i] = NoOp
				conflicts++
			}
		}
	}
	return v.sum(v.settled), conflicts
}

// chosen returns the utility of agent i's choice.
func (v *view[T]) chosen(i int32, choice []int) float64 { return v.w[int(i)*v.slots+choice[i]+1] }

// sum returns the sum of the utilities and payoffs of a choice.
func (v *view[T]) sum(choice []int) float64 {
	total := 0.0
	for i, a := range choice {
		u := v.chosen(int32(i), choice)
		if math.IsInf(u, -1) {
			return u
		}
		total += u
		if a == NoOp {
			continue
		}
		from, to := v.edges(i)
		for e := from; e < to; e++ {
			if j := v.p.Graph.To[e]; int(j) < i && choice[j] != NoOp {
				total += v.payoff(i, e, a, choice[j])
			}
		}
	}
	return total
}

// grow returns a slice of n elements that reuses the memory of x. Its content is undefined.
func grow[E any](x []E, n int) []E { return slices.Grow(x[:0], n)[:n] }

// zeros returns n zeros that reuse the memory of x.
func zeros[E any](x []E, n int) []E {
	x = grow(x, n)
	clear(x)
	return x
}
