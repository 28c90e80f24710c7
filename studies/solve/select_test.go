package solve_test

import (
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/studies/solve"
)

// match computes the scores of all pairs of agents, s_ij = <p_i,p_j>/sqrt(width), from their projections p [n*width] into dst
// [n*n].
func match(dst, p []float64, width int) {
	n := len(p) / width
	for i := range n {
		for j := range n {
			var sum float64
			for k := range width {
				sum += p[i*width+k] * p[j*width+k]
			}
			dst[i*n+j] = sum / math.Sqrt(float64(width))
		}
	}
}

// selectEdges returns the graph in which each agent selects the kappa other agents of highest score, the lower index on a tie.
// Two agents are linked if at least one of them selects the other. scores [n*n] must be symmetric.
func selectEdges(scores []float64, n, kappa int) *solve.Graph[float64] {
	if n*n != len(scores) {
		panic(fmt.Sprintf("solve: %d scores of %d agents, want n*n", len(scores), n))
	}
	linked := make([]bool, n*n)
	for i := range n {
		others := make([]int, 0, n-1)
		for j := range n {
			if j != i {
				others = append(others, j)
			}
		}
		slices.SortStableFunc(others, func(a, b int) int {
			switch x, y := scores[i*n+a], scores[i*n+b]; {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		for _, j := range others[:min(kappa, len(others))] {
			linked[i*n+j], linked[j*n+i] = true, true
		}
	}
	g := &solve.Graph[float64]{Agents: n, Start: []int32{0}}
	for i := range n {
		for j := range n {
			if linked[i*n+j] {
				g.To, g.Gate = append(g.To, int32(j)), append(g.Gate, 1/(1+math.Exp(-scores[i*n+j])))
			}
		}
		g.Start = append(g.Start, int32(len(g.To)))
	}
	return g
}
