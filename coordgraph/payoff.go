package coordgraph

import "github.com/clustergym/clustergym/internal/kernel"

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
