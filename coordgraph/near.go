package coordgraph

import (
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/internal/kernel"
)

// Exact is the largest number of active agents for which SelectNear compares all pairs.
const Exact = 128

// SelectNear fills dst with the graph of the agents with projections p [n*width], at a cost that is not quadratic in n. The match
// of two agents is s_ij = <p_i,p_j>/sqrt(width). Each active agent selects the kappa other partners with the highest match, and
// on a tie the lower index; two agents are linked if either selects the other. A match that is NaN is never selected. active [n]
// nil means all.
//
// Partners are the agents that can be selected. With at most Exact active agents, all of them are partners. With more, the
// partners are the kappa+1 agents furthest out in either direction along each axis of the projections, on a tie the lower index.
// An inner product with an agent far out is high, so these include most of the best partners. The work is bounded because the
// partners are the same for all agents.
func SelectNear[T kernel.Float](dst *Graph[T], p []T, width int, active []bool, kappa int) {
	if width <= 0 || len(p)%width != 0 || active != nil && len(active) != len(p)/width || kappa < 0 {
		panic(fmt.Sprintf("coordgraph: select %d by %d projected values with %d active flags, want n rows of %d and n",
			kappa, len(p), len(active), width))
	}
	n := len(p) / width
	dst.Agents, dst.edges = n, dst.edges[:0]
	dst.partners(p, width, active, kappa)
	scale := T(1 / math.Sqrt(float64(width)))
	score := func(i, j int) T {
		var s T
		x, y := p[i*width:(i+1)*width], p[j*width:(j+1)*width]
		for k, v := range x {
			s += v * y[k]
		}
		return s * scale
	}
	for i := range n {
		if active != nil && !active[i] {
			continue
		}
		dst.best.reset(kappa)
		for _, j := range dst.near {
			if int(j) != i {
				dst.best.add(j, score(i, int(j)))
			}
		}
		dst.link(i)
	}
	dst.join()
}

// SelectBy fills dst with the graph in which each of n agents selects the kappa others with the highest score, on a tie the lower
// index; two agents are linked if either selects the other. A score that is NaN is never selected. The cost is quadratic in n.
func SelectBy[T kernel.Float](dst *Graph[T], n, kappa int, score func(i, j int) T) {
	dst.Agents, dst.edges = n, dst.edges[:0]
	for i := range n {
		dst.best.reset(kappa)
		for j := range n {
			if j != i {
				dst.best.add(int32(j), score(i, j))
			}
		}
		dst.link(i)
	}
	dst.join()
}

// partners lists in near, ascending, the agents that others may select.
func (g *Graph[T]) partners(p []T, width int, active []bool, kappa int) {
	g.near = g.near[:0]
	for i := range g.Agents {
		if active == nil || active[i] {
			g.near = append(g.near, int32(i))
		}
	}
	all := len(g.near)
	if all <= Exact {
		return
	}
	for axis := range width {
		for _, sign := range [...]T{1, -1} {
			g.best.reset(kappa + 1)
			for _, i := range g.near[:all] {
				g.best.add(i, sign*p[int(i)*width+axis])
			}
			g.near = append(g.near, g.best.of...)
		}
	}
	g.near = append(g.near[:0], g.near[all:]...)
	slices.Sort(g.near)
	g.near = slices.Compact(g.near)
}
