// Package coordgraph implements a dynamic coordination graph. It links agents whose learned projections match, and it computes
// low-rank payoffs between the agents that act together and their neighbours. Graphs that do not depend on the agents' state are
// included for comparison.
//
// Package coordgraph/graph adds these payoffs to a Gorgonia graph for training. The idea of a sparse, state-dependent graph is
// from CASEC (Wang et al., ICLR 2022) and SOP-CG (Yang et al., 2021), that of low-rank payoffs from DCG (Boehmer et al., ICML
// 2020).
package coordgraph

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/internal/kernel"
)

// Graph contains the undirected edges between Agents agents, each edge in both directions. The next selection reuses its memory.
type Graph[T kernel.Float] struct {
	Agents int

	start         []int32  // agent i has the edges start[i] to start[i+1]-1; one more element than agents
	to            []int32  // neighbour of each edge, ascending within an agent
	edges, sorted []uint64 // both directions of each edge; the agents from and to in one number
	count         []int32
	near          []int32 // the agents that others may select
	best          top[T]
}

// link adds the edges between agent i and the agents in g.best.
func (g *Graph[T]) link(i int) {
	for _, j := range g.best.of {
		g.edges = append(g.edges, uint64(i)<<32|uint64(j), uint64(j)<<32|uint64(i))
	}
}

// join computes start and to from edges, which may contain an edge twice.
func (g *Graph[T]) join() {
	g.sorted = slices.Grow(g.sorted[:0], len(g.edges))[:len(g.edges)]
	g.count = slices.Grow(g.count[:0], g.Agents+1)[:g.Agents+1]
	arrange(g.sorted, g.edges, g.count, 0)
	arrange(g.edges, g.sorted, g.count, 32)
	g.edges = slices.Compact(g.edges)
	g.start, g.to = g.start[:0], g.to[:0]
	for _, e := range g.edges {
		for len(g.start) <= int(e>>32) {
			g.start = append(g.start, int32(len(g.to)))
		}
		g.to = append(g.to, int32(uint32(e)))
	}
	for len(g.start) <= g.Agents {
		g.start = append(g.start, int32(len(g.to)))
	}
}

// arrange copies the edges to dst, sorted by the agent in the 32 bits from shift on, with a stable counting sort. count must have
// one more element than there are agents.
func arrange(dst, edges []uint64, count []int32, shift uint) {
	clear(count)
	for _, e := range edges {
		count[uint32(e>>shift)+1]++
	}
	for i := 1; i < len(count); i++ {
		count[i] += count[i-1]
	}
	for _, e := range edges {
		at := &count[uint32(e>>shift)]
		dst[*at] = e
		*at++
	}
}

// top keeps the agents with the highest scores, best first; on a tie it prefers the earlier. most is the largest number to keep.
type top[T kernel.Float] struct {
	most int
	of   []int32
	by   []T
}

func (t *top[T]) reset(most int) { t.most, t.of, t.by = most, t.of[:0], t.by[:0] }

// add inserts an agent if its score is among the highest. It ignores NaN.
func (t *top[T]) add(j int32, score T) {
	at := len(t.of)
	if score != score || at == t.most && (at == 0 || score <= t.by[at-1]) {
		return
	}
	if at == t.most {
		at--
		t.of, t.by = t.of[:at], t.by[:at]
	}
	for at > 0 && score > t.by[at-1] {
		at--
	}
	t.of, t.by = slices.Insert(t.of, at, j), slices.Insert(t.by, at, score)
}

// Neighbours returns the neighbours of agent i, ascending. The slice belongs to the graph.
func (g *Graph[T]) Neighbours(i int) []int32 { return g.to[g.start[i]:g.start[i+1]] }

// Adjacency fills dst [n*n] with 1 for each pair of linked agents and 0 elsewhere. The training graph takes this as input.
func (g *Graph[T]) Adjacency(dst []T) {
	if len(dst) != g.Agents*g.Agents {
		panic(fmt.Sprintf("coordgraph: adjacency of %d agents into %d elements", g.Agents, len(dst)))
	}
	clear(dst)
	for i := range g.Agents {
		for _, j := range g.Neighbours(i) {
			dst[i*g.Agents+int(j)] = 1
		}
	}
}

// Sums computes dst_i = x_i + the sum of x_j over the neighbours j of agent i, with x and dst [n*width].
func (g *Graph[T]) Sums(dst, x []T, width int) {
	if len(x) != g.Agents*width || len(dst) != len(x) {
		panic(fmt.Sprintf("coordgraph: sums of %d numbers into %d for %d agents of %d", len(x), len(dst), g.Agents, width))
	}
	copy(dst, x)
	for i := range g.Agents {
		row := dst[i*width : (i+1)*width]
		for _, j := range g.Neighbours(i) {
			for t, v := range x[int(j)*width:][:width] {
				row[t] += v
			}
		}
	}
}
