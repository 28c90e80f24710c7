package coordgraph_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/coordgraph"
)

func normal(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// edges lists the neighbours of every agent.
func edges[T float32 | float64](g *coordgraph.Graph[T]) [][]int32 {
	out := make([][]int32, g.Agents)
	for i := range out {
		out[i], _ = g.Neighbours(i)
	}
	return out
}

func TestSelect(t *testing.T) {
	all := []bool{true, true, true, true}
	const nan = -1e30 // replaced below
	for _, row := range []struct {
		name   string
		scores []float64
		active []bool
		kappa  int
		want   [][]int32
	}{
		{"the best partner, whoever selects",
			[]float64{0, 3, 1, 0, 3, 0, 2, 1, 1, 2, 0, 0, 0, 1, 0, 0}, all, 1, [][]int32{{1}, {0, 2, 3}, {1}, {1}}},
		{"ties go to the lowest index", make([]float64, 16), all, 1, [][]int32{{1, 2, 3}, {0}, {0}, {0}}},
		{"an agent's own score does not count",
			[]float64{9, 0, 0, 0, 0, 9, 0, 0, 0, 0, 9, 0, 0, 0, 0, 9}, nil, 1, [][]int32{{1, 2, 3}, {0}, {0}, {0}}},
		{"inactive agents stay alone", make([]float64, 16), []bool{false, true, false, true}, 2,
			[][]int32{{}, {3}, {}, {1}}},
		{"more partners wanted than there are", make([]float64, 9), nil, 7, [][]int32{{1, 2}, {0, 2}, {0, 1}}},
		{"no partner wanted", make([]float64, 4), nil, 0, [][]int32{{}, {}}},
		{"NaN is no partner", []float64{0, nan, 1, nan, 0, nan, 1, nan, 0}, nil, 2, [][]int32{{2}, {}, {0}}},
		{"no agents", nil, nil, 3, [][]int32{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for i, s := range row.scores {
				if s == nan {
					row.scores[i] = math.NaN()
				}
			}
			var g coordgraph.Graph[float64]
			coordgraph.Select(&g, make([]float64, 25), nil, 4) // leftovers of an earlier graph must not show
			coordgraph.Select(&g, row.scores, row.active, row.kappa)
			if got := edges(&g); !slices.EqualFunc(got, row.want, slices.Equal[[]int32]) {
				t.Errorf("neighbours are %v, want %v", got, row.want)
			}
		})
	}
}

// problem is a random coordination problem of a rapid test.
type problem struct {
	n, kappa  int
	p, scores []float64
	width     int
	active    []bool
	graph     coordgraph.Graph[float64]
}

func draw(t *rapid.T) *problem {
	pr := &problem{
		n: rapid.IntRange(1, 12).Draw(t, "agents"), kappa: rapid.IntRange(0, 5).Draw(t, "kappa"),
		width: rapid.IntRange(1, 9).Draw(t, "width"),
	}
	pr.active = rapid.SliceOfN(rapid.Bool(), pr.n, pr.n).Draw(t, "active")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	pr.p, pr.scores = normal(rng, pr.n*pr.width), make([]float64, pr.n*pr.n)
	if rapid.Bool().Draw(t, "ties") {
		for i := range pr.p {
			pr.p[i] = math.Round(pr.p[i])
		}
	}
	coordgraph.Scores(pr.scores, pr.p, pr.width)
	coordgraph.Select(&pr.graph, pr.scores, pr.active, pr.kappa)
	return pr
}

func TestSelectEqualsSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pr := draw(t)
		linked := make([]float64, pr.n*pr.n)
		for i := range pr.n {
			var order []int
			for j := range pr.n {
				if j != i && pr.active[i] && pr.active[j] {
					order = append(order, j)
				}
			}
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pr.scores[i*pr.n+b], pr.scores[i*pr.n+a]) })
			for _, j := range order[:min(pr.kappa, len(order))] {
				linked[i*pr.n+j], linked[j*pr.n+i] = 1, 1
			}
		}
		got := make([]float64, pr.n*pr.n)
		pr.graph.Adjacency(got)
		if !slices.Equal(got, linked) {
			t.Fatalf("adjacency is %v, want %v", got, linked)
		}
		for i := range pr.n {
			to, gates := pr.graph.Neighbours(i)
			for e, j := range to {
				if want := 1 / (1 + math.Exp(-pr.scores[int(j)*pr.n+i])); math.Abs(gates[e]-want) > 1e-12 {
					t.Fatalf("gate between %d and %d is %g, want %g", i, j, gates[e], want)
				}
			}
		}
	})
}

func TestReuseAllocatesNothing(t *testing.T) {
	const n, width = 64, 16
	rng := rand.New(rand.NewPCG(1, 2))
	p, scores, near := normal(rng, n*width), make([]float64, n*n), make([]float64, n*width)
	var g coordgraph.Graph[float64]
	decide := func() {
		coordgraph.Scores(scores, p, width)
		coordgraph.Select(&g, scores, nil, 4)
		g.Sums(near, p, width)
		coordgraph.SelectNear(&g, p, width, nil, 4)
		coordgraph.SelectNear(&g, p, width/4, nil, 4) // four times as many agents: more than Exact
	}
	decide()
	if allocs := testing.AllocsPerRun(3, decide); allocs != 0 {
		t.Errorf("a decision allocates %g times", allocs)
	}
}

// BenchmarkSelect compares all pairs with candidates, all agents being active.
func BenchmarkSelect(b *testing.B) {
	const width = 4
	for _, n := range []int{32, 64, 256, 1024, 4096} {
		rng := rand.New(rand.NewPCG(1, 2))
		p, scores := normal(rng, n*width), make([]float64, n*n)
		var g coordgraph.Graph[float64]
		b.Run(fmt.Sprintf("all pairs/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				coordgraph.Scores(scores, p, width)
				coordgraph.Select(&g, scores, nil, 4)
			}
		})
		b.Run(fmt.Sprintf("candidates/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				coordgraph.SelectNear(&g, p, width, nil, 4)
			}
		})
	}
}
