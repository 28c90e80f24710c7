package coordgraph

import (
	"fmt"

	"github.com/clustergym/clustergym/internal/kernel"
)

// NoOp stands for an agent's choice of no item. It has no payoff with anything.
const NoOp = -1

// Payoffs are the low-rank payoffs between the items of linked agents:
//
//	f_ij(a,a') = gate_ij * sum_r D_r q_{i,a,r} q_{j,a',r}
//
// symmetric, and zero for NoOp. The slices are borrowed.
type Payoffs[T kernel.Float] struct {
	Agents, Items int
	Q             []T // [n*K,rank] factors; item a of agent i in row i*K+a
	D             []T // [rank] weights of the factors
}

// check panics unless the payoffs fit together and with g.
func (f *Payoffs[T]) check(g *Graph[T]) {
	if f.Agents != g.Agents || len(f.Q) != f.Agents*f.Items*len(f.D) {
		panic(fmt.Sprintf("coordgraph: payoffs of %d agents, %d items, rank %d with %d factors on a graph of %d agents",
			f.Agents, f.Items, len(f.D), len(f.Q), g.Agents))
	}
}

// AddPayoff adds to bids [n*K] what item a of agent i, once committed, is worth to its neighbours: f_ij(a,a') to the bid of
// every item a' of every neighbour j. Committing NoOp changes nothing.
func AddPayoff[T kernel.Float](bids []T, g *Graph[T], f *Payoffs[T], i, a int) {
	f.check(g)
	if len(bids) != f.Agents*f.Items {
		panic(fmt.Sprintf("coordgraph: %d bids, want %d agents times %d items", len(bids), f.Agents, f.Items))
	}
	if a == NoOp {
		return
	}
	to, gates := g.Neighbours(i)
	for e, j := range to {
		for k := range f.Items {
			bids[int(j)*f.Items+k] += gates[e] * f.product(i, a, int(j), k)
		}
	}
}

// Value returns the sum of the payoffs of a joint choice, one item or NoOp per agent, each edge counted once.
func Value[T kernel.Float](g *Graph[T], f *Payoffs[T], joint []int) T {
	f.check(g)
	if len(joint) != f.Agents {
		panic(fmt.Sprintf("coordgraph: %d choices for %d agents", len(joint), f.Agents))
	}
	var sum T
	for i, a := range joint {
		to, gates := g.Neighbours(i)
		for e, j := range to {
			if int(j) > i && a != NoOp && joint[j] != NoOp {
				sum += gates[e] * f.product(i, a, int(j), joint[j])
			}
		}
	}
	return sum
}

// product returns sum_r D_r q_{i,a,r} q_{j,b,r}.
func (f *Payoffs[T]) product(i, a, j, b int) T {
	rank := len(f.D)
	x, y := f.Q[(i*f.Items+a)*rank:][:rank], f.Q[(j*f.Items+b)*rank:][:rank]
	var s T
	for r, d := range f.D {
		s += d * x[r] * y[r]
	}
	return s
}
