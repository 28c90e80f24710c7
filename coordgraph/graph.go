// Package coordgraph is a dynamic coordination graph: agents are linked where their learned projections match, and those who
// act together share low-rank payoffs with each other and with their neighbours. Graphs that do not look at the agents are
// there to be compared with it.
//
// Package coordgraph/graph adds these payoffs to a Gorgonia graph for training; package coordgraph/solve chooses jointly under
// payoffs between items. The idea of a sparse, state-dependent graph
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

	edges, sorted []uint64 // both directions of each edge, from agent and to agent in one number
	count         []int32
	near          []int32 // candidates of SelectNear
	best          top[T]
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
	dst.Agents, dst.edges = n, dst.edges[:0]
	for i := range n {
		if active != nil && !active[i] {
			continue
		}
		dst.best.reset(kappa)
		for j, s := range scores[i*n : (i+1)*n] {
			if j != i && (active == nil || active[j]) {
				dst.best.offer(int32(j), s)
			}
		}
		dst.link(i)
	}
	dst.join(func(i, j int) T { return scores[i*n+j] })
}

// link adds the edges between agent i and its best partners.
func (g *Graph[T]) link(i int) {
	for _, j := range g.best.of {
		g.edges = append(g.edges, uint64(i)<<32|uint64(j), uint64(j)<<32|uint64(i))
	}
}

// join fills the exported part from the edges, each of which may be there twice.
func (g *Graph[T]) join(score func(i, j int) T) {
	g.sorted = slices.Grow(g.sorted[:0], len(g.edges))[:len(g.edges)]
	g.count = slices.Grow(g.count[:0], g.Agents+1)[:g.Agents+1]
	arrange(g.sorted, g.edges, g.count, 0)
	arrange(g.edges, g.sorted, g.count, 32)
	g.edges = slices.Compact(g.edges)
	g.Start, g.To, g.Gate = g.Start[:0], g.To[:0], g.Gate[:0]
	for _, e := range g.edges {
		i, j := int(e>>32), int(uint32(e))
		for len(g.Start) <= i {
			g.Start = append(g.Start, int32(len(g.To)))
		}
		g.To, g.Gate = append(g.To, int32(j)), append(g.Gate, kernel.Sigmoid(score(i, j)))
	}
	for len(g.Start) <= g.Agents {
		g.Start = append(g.Start, int32(len(g.To)))
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

// top keeps the few agents of highest score that it is offered, best first, the earlier on a tie.
type top[T kernel.Float] struct {
	most int
	of   []int32
	by   []T
}

func (t *top[T]) reset(most int) { t.most, t.of, t.by = most, t.of[:0], t.by[:0] }

// offer inserts an agent if its score is among the highest: they are few. NaN is never.
func (t *top[T]) offer(j int32, score T) {
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
