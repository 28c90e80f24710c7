package solve

import (
	"cmp"
	"math"
	"slices"

	"github.com/clustergym/clustergym/internal/kernel"
)

// Tree finds the best choice on a graph without cycles by dynamic programming. Of any other graph it keeps the spanning forest
// with the largest spans of payoffs (highest minus lowest) and drops the other edges (the class of trees of SOP-CG, Yang et al.,
// 2021). It ignores tasks, so agents may claim the same one.
type Tree[T kernel.Float] struct {
	view[T]
	span  []float64 // per edge
	root  []int32   // by agent: parent in the forest of partial trees
	keep  []bool    // per edge
	up    []int32   // by agent: edge to the parent; -1 at a root
	queue []int32   // agents, parents first
	total []float64 // [n*slots] utilities and messages of the children
	out   []float64
}

// Solve implements Solver.
func (s *Tree[T]) Solve(p *Problem[T], choice []int) float64 {
	s.look(p, choice)
	s.grow()
	s.plant()
	s.total, s.out = append(s.total[:0], s.w...), grow(s.out, s.slots)
	for _, i := range slices.Backward(s.queue) {
		if e := s.up[i]; e >= 0 {
			s.message(s.out, s.row(s.total, int(i)), int(i), e)
			parent := s.row(s.total, int(p.Graph.To[e]))
			for k, m := range s.out {
				parent[k] += m
			}
		}
	}
	for _, i := range s.queue {
		if e := s.up[i]; e >= 0 {
			j := int(p.Graph.To[e])
			s.addPayoffs(s.total, j, s.reverse[e], int32(choice[j]+1))
		}
		row, at := s.row(s.total, int(i)), 0
		for k, x := range row {
			if x > row[at] {
				at = k
			}
		}
		choice[i] = at - 1
	}
	value, _ := s.value(choice)
	return value
}

// grow keeps the edges of the maximum spanning forest, by Kruskal's algorithm.
func (s *Tree[T]) grow() {
	s.order, s.root = s.order[:0], grow(s.root, s.n)
	for i := range s.n {
		s.root[i] = int32(i)
	}
	if s.p.Graph == nil {
		return
	}
	s.span, s.keep = grow(s.span, len(s.p.Graph.To)), zeros(s.keep, len(s.p.Graph.To))
	for i := range s.n {
		for e, to := s.edges(i); e < to; e++ {
			if int(s.p.Graph.To[e]) > i {
				s.span[e] = s.reach(i, e)
				s.order = append(s.order, e)
			}
		}
	}
	slices.SortFunc(s.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.span[b], s.span[a]), cmp.Compare(a, b))
	})
	for _, e := range s.order {
		a, b := s.find(s.p.Graph.To[e]), s.find(s.p.Graph.To[s.reverse[e]])
		if a != b {
			s.root[a] = b
			s.keep[e], s.keep[s.reverse[e]] = true, true
		}
	}
}

// find returns the root of the partial tree of agent i.
func (s *Tree[T]) find(i int32) int32 {
	for s.root[i] != i {
		s.root[i] = s.root[s.root[i]]
		i = s.root[i]
	}
	return i
}

// reach returns by how much the payoffs of legal choices along an edge differ. One of them is 0, because of NoOp.
func (s *Tree[T]) reach(i int, e int32) float64 {
	low, high := 0.0, 0.0
	mine, theirs := s.row(s.w, i)[1:], s.row(s.w, int(s.p.Graph.To[e]))[1:]
	for a, u := range mine {
		if math.IsInf(u, -1) {
			continue
		}
		if s.same != nil {
			if !math.IsInf(theirs[a], -1) {
				f := float64(s.same(i, int(s.p.Graph.To[e]), a))
				low, high = min(low, f), max(high, f)
			}
			continue
		}
		for _, f := range s.payoffRow(i, e, a) {
			low, high = min(low, f), max(high, f)
		}
	}
	return high - low
}

// plant roots each tree at its lowest agent and lists the agents so that parents come first.
func (s *Tree[T]) plant() {
	s.queue, s.up = s.queue[:0], grow(s.up, s.n)
	for i := range s.up {
		s.up[i] = -2 // not seen
	}
	for i := range s.n {
		if s.up[i] != -2 {
			continue
		}
		s.up[i] = -1
		s.queue = append(s.queue, int32(i))
		for k := len(s.queue) - 1; k < len(s.queue); k++ {
			j := s.queue[k]
			for e, to := s.edges(int(j)); e < to; e++ {
				if child := s.p.Graph.To[e]; s.keep[e] && s.up[child] == -2 {
					s.up[child] = s.reverse[e]
					s.queue = append(s.queue, child)
				}
			}
		}
	}
}
