// Package coordgraph is a dynamic coordination graph: agents are linked where their learned projections match, and those who
// act together share low-rank payoffs with each other and with their neighbours. Graphs that do not look at the agents are
// there to be compared with it.
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

// Graph holds the undirected edges between Agents agents, each edge in both directions. Its memory is reused by the next
// selection.
type Graph[T kernel.Float] struct {
	Agents int

	start         []int32  // the edges of agent i are start[i]..start[i+1]; one more element than agents
	to            []int32  // neighbour per edge, ascending within an agent
	edges, sorted []uint64 // both directions of each edge, from agent and to agent in one number
	count         []int32
	near          []int32 // whom agents may select
	best          top[T]
}

// link adds the edges between agent i and its best partners.
func (g *Graph[T]) link(i int) {
	for _, j := range g.best.of {
		g.edges = append(g.edges, uint64(i)<<32|uint64(j), uint64(j)<<32|uint64(i))
	}
}

// join fills start and to from the edges, each of which may be there twice.
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

// arrange puts the edges into dst in the order of the agents in the bits from shift on, by counting; equal ones keep theirs.
// count has one more element than there are agents.
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

// top keeps the few agents of highest score among those that it is given, best first, the earlier on a tie.
type top[T kernel.Float] struct {
	most int
	of   []int32
	by   []T
}

func (t *top[T]) reset(most int) { t.most, t.of, t.by = most, t.of[:0], t.by[:0] }

// add inserts an agent if its score is among the highest: they are few. NaN is never.
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

// Adjacency fills dst [n*n] with 1 where two agents are linked and 0 elsewhere: the input of the training graph.
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
