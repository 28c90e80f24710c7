package solve

import "github.com/clustergym/clustergym/internal/kernel"

// Graph contains the undirected edges between agents. Each edge is stored in both directions, with the same gate.
type Graph[T kernel.Float] struct {
	Agents int
	Start  []int32 // the edges of agent i are Start[i]..Start[i+1]; it has Agents+1 elements
	To     []int32 // neighbour per edge, ascending within an agent
	Gate   []T     // per edge: sigmoid of its score, the same in both directions
}

// Payoffs are the low-rank payoffs between the items of linked agents:
//
//	f_ij(a,a') = gate_ij * sum_r D_r q_{i,a,r} q_{j,a',r}
//
// They are symmetric, and zero for NoOp. The slices are borrowed.
type Payoffs[T kernel.Float] struct {
	Agents, Items int
	Q             []T // [n*K,rank] factors; item a of agent i in row i*K+a
	D             []T // [rank] weights of the factors
}

// Neighbours returns the neighbours of agent i, ascending, and the gates of the edges to them. The slices belong to the graph.
func (g *Graph[T]) Neighbours(i int) ([]int32, []T) {
	from, to := g.Start[i], g.Start[i+1]
	return g.To[from:to], g.Gate[from:to]
}
