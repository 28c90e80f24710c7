package coordgraph_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/coordgraph"
)

func normal(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// edges returns the neighbours of every agent.
func edges[T float32 | float64](g *coordgraph.Graph[T]) [][]int32 {
	out := make([][]int32, g.Agents)
	for i := range out {
		out[i] = g.Neighbours(i)
	}
	return out
}

func same(a, b [][]int32) bool { return slices.EqualFunc(a, b, slices.Equal[[]int32]) }

// match returns the match of agents i and j.
func match(p []float64, width, i, j int) (s float64) {
	for k := range width {
		s += p[i*width+k] * p[j*width+k]
	}
	return s / math.Sqrt(float64(width))
}

// allPairs computes the graph in which every active agent sorts all other active agents by match.
func allPairs(p []float64, width int, active []bool, kappa int) [][]int32 {
	n := len(p) / width
	out := make([][]int32, n)
	for i := range n {
		var order []int32
		for j := range n {
			if j != i && active[i] && active[j] {
				order = append(order, int32(j))
			}
		}
		slices.SortStableFunc(order, func(a, b int32) int {
			return cmp.Compare(match(p, width, i, int(b)), match(p, width, i, int(a)))
		})
		for _, j := range order[:min(kappa, len(order))] {
			out[i], out[j] = append(out[i], j), append(out[j], int32(i))
		}
	}
	for i := range out {
		slices.Sort(out[i])
		out[i] = slices.Compact(out[i])
	}
	return out
}

func TestSelectNear(t *testing.T) {
	nan := math.NaN()
	for _, row := range []struct {
		name   string
		p      []float64
		active []bool
		kappa  int
		want   [][]int32
	}{
		{"the best partner, whoever selects", []float64{1, 2, 3, -1}, nil, 1, [][]int32{{2, 3}, {2}, {0, 1}, {0}}},
		{"ties go to the lowest index", make([]float64, 4), nil, 1, [][]int32{{1, 2, 3}, {0}, {0}, {0}}},
		{"inactive agents stay alone", make([]float64, 4), []bool{false, true, false, true}, 2, [][]int32{{}, {3}, {}, {1}}},
		{"more partners wanted than there are", make([]float64, 3), nil, 7, [][]int32{{1, 2}, {0, 2}, {0, 1}}},
		{"no partner wanted", make([]float64, 2), nil, 0, [][]int32{{}, {}}},
		{"NaN is no partner", []float64{1, nan, 1}, nil, 2, [][]int32{{2}, {}, {0}}},
		{"no agents", nil, nil, 3, [][]int32{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var g coordgraph.Graph[float64]
			coordgraph.SelectAll(&g, 5, nil) // nothing of an earlier graph may remain
			coordgraph.SelectNear(&g, row.p, 1, row.active, row.kappa)
			if got := edges(&g); !same(got, row.want) {
				t.Errorf("neighbours are %v, want %v", got, row.want)
			}
		})
	}
}

func TestReuseAllocatesNothing(t *testing.T) {
	const n, width = 64, 16
	p, near := normal(rand.New(rand.NewPCG(1, 2)), n*width), make([]float64, n*width)
	var g coordgraph.Graph[float64]
	decide := func() {
		coordgraph.SelectNear(&g, p, width, nil, 4)
		g.Sums(near, p, width)
		coordgraph.SelectNear(&g, p, width/4, nil, 4) // four times as many agents: more than Exact
	}
	decide()
	if allocs := testing.AllocsPerRun(3, decide); allocs != 0 {
		t.Errorf("a decision allocates %g times", allocs)
	}
}

// BenchmarkSelectNear measures SelectNear with all agents active.
func BenchmarkSelectNear(b *testing.B) {
	const width = 4
	for _, n := range []int{32, 64, 256, 1024, 4096} {
		p := normal(rand.New(rand.NewPCG(1, 2)), n*width)
		var g coordgraph.Graph[float64]
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				coordgraph.SelectNear(&g, p, width, nil, 4)
			}
		})
	}
}
