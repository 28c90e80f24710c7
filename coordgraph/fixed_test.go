package coordgraph_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/coordgraph"
)

// TestSelectRandom checks that a random graph is the same every time, is symmetric, links only active agents, and gives each at
// least kappa neighbours.
func TestSelectRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, kappa := rapid.IntRange(0, 300).Draw(t, "agents"), rapid.IntRange(0, 5).Draw(t, "kappa")
		active, count := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "active"), 0
		for _, a := range active {
			if a {
				count++
			}
		}
		var g, again coordgraph.Graph[float32]
		coordgraph.SelectAll(&g, 7, nil) // nothing of an earlier graph may remain
		coordgraph.SelectRandom(&g, n, active, kappa)
		coordgraph.SelectRandom(&again, n, active, kappa)
		if !same(edges(&g), edges(&again)) {
			t.Fatal("two graphs differ")
		}
		for i := range n {
			to := g.Neighbours(i)
			if !active[i] && len(to) > 0 || active[i] && len(to) < min(kappa, count-1) || !slices.IsSorted(to) {
				t.Fatalf("agent %d, active %v, has neighbours %v", i, active[i], to)
			}
			for _, j := range to {
				if back := g.Neighbours(int(j)); int(j) == i || !active[j] || !slices.Contains(back, int32(i)) {
					t.Fatalf("%d, active %v, is a neighbour of %d, %v the other way round", j, active[j], i, back)
				}
			}
		}
	})
}

// TestSelectRandomSpreads checks that no agent is selected much more often than others.
func TestSelectRandomSpreads(t *testing.T) {
	const n, kappa = 100, 4
	var g coordgraph.Graph[float32]
	coordgraph.SelectRandom(&g, n, nil, kappa)
	for i := range n {
		if to := g.Neighbours(i); len(to) > 5*kappa {
			t.Errorf("agent %d has %d neighbours", i, len(to))
		}
	}
}

func TestSelectAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "agents")
		active := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "active")
		var g coordgraph.Graph[float64]
		coordgraph.SelectRandom(&g, 9, nil, 2)
		coordgraph.SelectAll(&g, n, active)
		for i := range n {
			var want []int32
			for j := range n {
				if i != j && active[i] && active[j] {
					want = append(want, int32(j))
				}
			}
			if to := g.Neighbours(i); !slices.Equal(to, want) {
				t.Fatalf("agent %d has neighbours %v, want %v", i, to, want)
			}
		}
	})
}

// TestSums checks that Sums equals (identity + adjacency) times x.
func TestSums(t *testing.T) {
	const n, width = 30, 3
	x := normal(rand.New(rand.NewPCG(1, 1)), n*width)
	var g coordgraph.Graph[float64]
	coordgraph.SelectNear(&g, x, width, nil, 3)
	adj, got := make([]float64, n*n), make([]float64, n*width)
	g.Adjacency(adj)
	g.Sums(got, x, width)
	for i := range n {
		for k := range width {
			want := x[i*width+k]
			for j := range n {
				want += adj[i*n+j] * x[j*width+k]
			}
			if got[i*width+k] != want {
				t.Fatalf("sum %d of agent %d is %v, want %v", k, i, got[i*width+k], want)
			}
		}
	}
}
