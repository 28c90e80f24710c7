// Package coordgraph is a dynamic coordination graph: agents are linked where their learned projections match, and linked
// agents share low-rank payoffs between their items. A decoder commits items one after another and adds each one's payoffs
// to the bids of the neighbours, so that later choices take account of earlier ones.
//
// Package coordgraph/graph adds the same bonus to a Gorgonia graph for training. The idea of a sparse, state-dependent graph
// is from CASEC (Wang et al., ICLR 2022) and SOP-CG (Yang et al., 2021), that of low-rank payoffs from DCG (Boehmer et al.,
// ICML 2020).
package coordgraph

import (
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/internal/kernel"
)

// Graph holds the undirected edges between Agents agents, each edge in both directions. Its memory is reused by the next
// Select.
type Graph[T kernel.Float] struct {
	Agents int
	Start  []int32 // the edges of agent i are Start[i]..Start[i+1]; one more element than agents
	To     []int32 // neighbour per edge, ascending within an agent
	Gate   []T     // sigmoid of the score per edge, the same in both directions

	linked []bool  // [n*n], which pairs are linked
	best   []int32 // partners of the agent at hand
}

// Scores computes the match of all pairs of agents, s_ij = <p_i,p_j>/sqrt(width), from their projections p [n*width] into
// dst [n*n]. The result is exactly symmetric.
func Scores[T kernel.Float](dst, p []T, width int) {
	if width <= 0 || len(p)%width != 0 {
		panic(fmt.Sprintf("coordgraph: projections have %d elements, want whole rows of %d", len(p), width))
	}
	n := len(p) / width
	rows := kernel.Mat(p, n, width)
	kernel.Gemm(kernel.Mat(dst, n, n), T(1/math.Sqrt(float64(width))), rows, rows.T(), 0)
	for i := range n {
		for j := range i {
			dst[i*n+j] = dst[j*n+i]
		}
	}
}

// Select fills dst with the graph in which each active agent selects the kappa other active agents of highest score, the
// lower index on a tie, and two agents are linked if either selects the other. scores [n*n] must be symmetric; active [n]
// nil means all. NaN scores are never selected.
func Select[T kernel.Float](dst *Graph[T], scores []T, active []bool, kappa int) {
	n := int(math.Sqrt(float64(len(scores))))
	if n*n != len(scores) || active != nil && len(active) != n || kappa < 0 {
		panic(fmt.Sprintf("coordgraph: select %d of %d scores with %d active flags, want n*n and n",
			kappa, len(scores), len(active)))
	}
	dst.Agents = n
	if cap(dst.linked) < n*n {
		dst.linked = make([]bool, n*n)
	}
	dst.linked = dst.linked[:n*n]
	clear(dst.linked)
	for i := range n {
		if active == nil || active[i] {
			dst.link(i, scores[i*n:(i+1)*n], active, kappa)
		}
	}
	dst.Start, dst.To, dst.Gate = append(dst.Start[:0], 0), dst.To[:0], dst.Gate[:0]
	for i := range n {
		for j, linked := range dst.linked[i*n : (i+1)*n] {
			if linked {
				dst.To = append(dst.To, int32(j))
				dst.Gate = append(dst.Gate, kernel.Sigmoid(scores[i*n+j]))
			}
		}
		dst.Start = append(dst.Start, int32(len(dst.To)))
	}
}

// link marks the best kappa partners of agent i. They are kept in best, best first, by insertion: kappa is small.
func (g *Graph[T]) link(i int, scores []T, active []bool, kappa int) {
	best := g.best[:0]
	for j, s := range scores {
		if j == i || s != s || active != nil && !active[j] {
			continue
		}
		at := len(best)
		for at > 0 && s > scores[best[at-1]] {
			at--
		}
		if at < kappa {
			if len(best) == kappa {
				best = best[:kappa-1]
			}
			best = slices.Insert(best, at, int32(j))
		}
	}
	g.best = best
	for _, j := range best {
		g.linked[i*g.Agents+int(j)], g.linked[int(j)*g.Agents+i] = true, true
	}
}

// Neighbours returns the neighbours of agent i, ascending, and the gates of the edges to them. The slices belong to the
// graph.
func (g *Graph[T]) Neighbours(i int) ([]int32, []T) {
	from, to := g.Start[i], g.Start[i+1]
	return g.To[from:to], g.Gate[from:to]
}

// Adjacency fills dst [n*n] with 1 where two agents are linked and 0 elsewhere: the input of the training graph.
func (g *Graph[T]) Adjacency(dst []T) {
	if len(dst) != g.Agents*g.Agents {
		panic(fmt.Sprintf("coordgraph: adjacency of %d agents into %d elements", g.Agents, len(dst)))
	}
	clear(dst)
	for i := range g.Agents {
		to, _ := g.Neighbours(i)
		for _, j := range to {
			dst[i*g.Agents+int(j)] = 1
		}
	}
}
