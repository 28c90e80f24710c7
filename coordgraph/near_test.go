package coordgraph_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/coordgraph"
)

func TestSelectNearIsAllPairsAmongFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(0, coordgraph.Exact)).Draw(t, "agents")
		width, kappa := rapid.IntRange(1, 6).Draw(t, "width"), rapid.IntRange(0, 5).Draw(t, "kappa")
		active := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "active")
		p := normal(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), n*width)
		for i := range p { // multiples of a power of two, so that matches are exact in any order of summation, and some tie
			p[i] = math.Round(4*p[i]) / 4
		}
		var g coordgraph.Graph[float64]
		coordgraph.SelectNear(&g, make([]float64, 30), 3, nil, 2) // nothing of an earlier graph may remain
		coordgraph.SelectNear(&g, p, width, active, kappa)
		if got, want := edges(&g), allPairs(p, width, active, kappa); !same(got, want) {
			t.Fatalf("neighbours are %v, want %v", got, want)
		}
	})
}

// TestSelectNearAmongMany checks the graph of more than Exact agents. It may differ from the exact graph, but edges must be
// symmetric, ascending and between active agents, and each active agent must have at least kappa.
func TestSelectNearAmongMany(t *testing.T) {
	const n, width, kappa = 700, 4, 4
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p, active := normal(rng, n*width), make([]bool, n)
		for i := range active {
			active[i] = i%3 > 0
			if seed == 3 { // all agents equal
				copy(p[i*width:(i+1)*width], p)
			}
		}
		exact := allPairs(p, width, active, kappa)
		var g coordgraph.Graph[float64]
		coordgraph.SelectNear(&g, p, width, active, kappa)
		highest := func(i int, of []int32) (best float64) {
			for _, j := range of {
				best = max(best, match(p, width, i, int(j)))
			}
			return best
		}
		got, best := 0.0, 0.0
		for i := range n {
			to := g.Neighbours(i)
			if active[i] && len(to) < kappa || !active[i] && len(to) > 0 || !slices.IsSorted(to) {
				t.Fatalf("agent %d, active %v, has neighbours %v", i, active[i], to)
			}
			for _, j := range to {
				if !active[j] || int(j) == i {
					t.Fatalf("agent %d, active %v, is a neighbour of %d", j, active[j], i)
				}
				if !slices.Contains(g.Neighbours(int(j)), int32(i)) {
					t.Fatalf("%d is a neighbour of %d, but not the other way round", j, i)
				}
			}
			got += highest(i, to)
			best += highest(i, exact[i])
		}
		t.Logf("seed %d: the best partner matches %.3f of the best of all", seed, got/best)
		if got < 0.95*best {
			t.Errorf("seed %d: the best partners match by %g, those of all pairs by %g", seed, got, best)
		}
		if seed == 3 && !same(edges(&g), exact) {
			t.Error("agents that are all alike have other neighbours than by all pairs")
		}
	}
}

// TestSelectNearKnowsNoNumbers checks that renumbering the agents only renumbers the graph.
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
		to := b.Neighbours(i)
		var was []int32
		for _, j := range to {
			was = append(was, int32(perm[j]))
		}
		slices.Sort(was)
		if want := a.Neighbours(from); !slices.Equal(was, want) {
			t.Fatalf("agent %d has neighbours %v, want %v", from, was, want)
		}
	}
}
