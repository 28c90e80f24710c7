package e2e

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// orders compares two orders of jobs, each given by when the jobs start. It returns how many pairs of jobs start in one order here
// and in the other order there, and the place in the order here, from 1, of the first job of such a pair; 0 if there is none. Two
// jobs with at most alike between them count as starting together.
func orders(here, there []time.Duration, alike time.Duration) (pairs, first int) {
	places := make([]int, len(here))
	for place, i := range inOrder(here) {
		places[i] = place + 1
	}
	for i := range here {
		for j := range here {
			if here[j]-here[i] <= alike || there[i]-there[j] <= alike {
				continue
			}
			if pairs++; first == 0 || places[i] < first {
				first = places[i]
			}
		}
	}
	return pairs, first
}

// inOrder returns the indexes of the jobs in the order in which they start.
func inOrder(starts []time.Duration) []int {
	all := make([]int, len(starts))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(starts[i], starts[j]) })
	return all
}

// kendall returns Kendall's rank correlation of two orders of n jobs of which so many pairs differ.
func kendall(pairs, n int) float64 { return 1 - 4*float64(pairs)/float64(n*(n-1)) }

func TestOrders(t *testing.T) {
	const a, b, c, d = 1 * time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second
	for _, test := range []struct {
		name         string
		here, there  []time.Duration
		alike        time.Duration
		pairs, first int
	}{
		{"equal", []time.Duration{a, b, c}, []time.Duration{b, c, d}, 0, 0, 0},
		{"two exchanged", []time.Duration{a, c, b, d}, []time.Duration{a, b, c, d}, 0, 1, 2},
		{"two exchanged that start together", []time.Duration{a, c, b, d}, []time.Duration{a, b, c, d}, time.Second, 0, 0},
		{"reversed", []time.Duration{a, b, c, d}, []time.Duration{d, c, b, a}, 0, 6, 1},
		{"together there", []time.Duration{b, a}, []time.Duration{a, a}, 0, 0, 0},
	} {
		pairs, first := orders(test.here, test.there, test.alike)
		if pairs != test.pairs || first != test.first {
			t.Errorf("%s: %d pairs, first %d, want %d and %d", test.name, pairs, first, test.pairs, test.first)
		}
	}
	if got := kendall(6, 4); got != -1 {
		t.Errorf("Kendall's tau of a reversed order is %v, want -1", got)
	}
}
