package coordgraph_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/coordgraph"
)

// nearby compares SelectNear with Select on agents whose projections are few or many, alike or not.
func nearby(t *rapid.T, n int) (near, exact coordgraph.Graph[float64]) {
	width, kappa := rapid.IntRange(1, 6).Draw(t, "width"), rapid.IntRange(0, 5).Draw(t, "kappa")
	active := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "active")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	p := normal(rng, n*width)
	for i := range p { // multiples of a power of two: scores are exact, whatever the order of summation, and some tie
		p[i] = math.Round(4*p[i]) / 4
	}
	scores := make([]float64, n*n)
	coordgraph.Scores(scores, p, width)
	coordgraph.Select(&exact, scores, active, kappa)
	coordgraph.SelectNear(&near, make([]float64, 30), 3, nil, 2) // leftovers of an earlier graph must not show
	coordgraph.SelectNear(&near, p, width, active, kappa)
	return near, exact
}

func TestSelectNearIsSelectAmongFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near, exact := nearby(t, rapid.IntRange(0, coordgraph.Exact).Draw(t, "agents"))
		if !slices.Equal(near.Start, exact.Start) || !slices.Equal(near.To, exact.To) || !slices.Equal(near.Gate, exact.Gate) {
			t.Fatalf("neighbours are %v, want %v", edges(&near), edges(&exact))
		}
	})
}

// Among many agents the graph is another, but each edge is one: mutual, with the gate of its score, ascending, between
// active agents, and each active agent has its kappa.
func TestSelectNearAmongMany(t *testing.T) {
	const n, width, kappa = 700, 4, 4
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p, active, scores := normal(rng, n*width), make([]bool, n), make([]float64, n*n)
		for i := range active {
			active[i] = i%3 > 0
			if seed == 3 { // all agents alike
				copy(p[i*width:(i+1)*width], p)
			}
		}
		var near, exact coordgraph.Graph[float64]
		coordgraph.Scores(scores, p, width)
		coordgraph.Select(&exact, scores, active, kappa)
		coordgraph.SelectNear(&near, p, width, active, kappa)
		got, best := 0.0, 0.0
		for i := range n {
			to, gates := near.Neighbours(i)
			if active[i] && len(to) < kappa || !active[i] && len(to) > 0 || !slices.IsSorted(to) {
				t.Fatalf("agent %d, active %v, has neighbours %v", i, active[i], to)
			}
			for e, j := range to {
				if want := 1 / (1 + math.Exp(-scores[i*n+int(j)])); math.Abs(gates[e]-want) > 1e-12 || !active[j] || int(j) == i {
					t.Fatalf("gate between %d and %d, active %v, is %g, want %g", i, j, active[j], gates[e], want)
				}
				if back, _ := near.Neighbours(int(j)); !slices.Contains(back, int32(i)) {
					t.Fatalf("%d is a neighbour of %d, but not the other way round", j, i)
				}
			}
			got += highest(&near, scores, i)
			best += highest(&exact, scores, i)
		}
		t.Logf("seed %d: the best partner scores %.3f of the best of all", seed, got/best)
		if got < 0.95*best {
			t.Errorf("seed %d: the best partners score %g, those of all pairs %g", seed, got, best)
		}
		if seed == 3 && !slices.Equal(near.To, exact.To) {
			t.Error("agents that are all alike have other neighbours than by all pairs")
		}
	}
}

// highest is the score of the best neighbour of agent i.
func highest(g *coordgraph.Graph[float64], scores []float64, i int) float64 {
	to, _ := g.Neighbours(i)
	best := 0.0
	for _, j := range to {
		best = max(best, scores[i*g.Agents+int(j)])
	}
	return best
}

// Numbering the agents otherwise renumbers the graph.
func TestSelectNearKnowsNoNumbers(t *testing.T) {
	const n, width, kappa = 300, 4, 3
	rng := rand.New(rand.NewPCG(5, 1))
	p, perm, moved := normal(rng, n*width), rng.Perm(n), make([]float64, n*width)
	for i, from := range perm {
		copy(moved[i*width:(i+1)*width], p[from*width:])
	}
	var a, b coordgraph.Graph[float64]
	coordgraph.SelectNear(&a, p, width, nil, kappa)
	coordgraph.SelectNear(&b, moved, width, nil, kappa)
	for i, from := range perm {
		to, _ := b.Neighbours(i)
		var was []int32
		for _, j := range to {
			was = append(was, int32(perm[j]))
		}
		slices.Sort(was)
		if want, _ := a.Neighbours(from); !slices.Equal(was, want) {
			t.Fatalf("agent %d has neighbours %v, want %v", from, was, want)
		}
	}
}
