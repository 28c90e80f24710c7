package belief

import (
	"math/bits"
	"time"
)

// Bins is the number of bins of run time: the first is below 10 s, each further one begins where the one before it ends and
// reaches 5/4 times as far, and the last one is open and begins after about 31 days.
const Bins = 58

const (
	open     = Bins - 1               // the open bin
	shortest = 10 * time.Second       // upper edge of the first bin
	longest  = time.Duration(1) << 60 // 36 years; no answer is longer, so that ages and answers can be added
)

// edges are the lower edges of the bins. After that of the open bin they go on in the same way up to longest: these further ones
// divide the open bin into steps between which predictions do not change.
var edges = func() []time.Duration {
	list := []time.Duration{0}
	for e := shortest; e < longest; e = wider(e) {
		list = append(list, e)
	}
	return list
}()

// wider returns 5/4 of an edge.
func wider(e time.Duration) time.Duration { return e + (e / 4).Truncate(time.Millisecond) }

// starts are the lower edges of the bins in nanoseconds, and widths the bins' widths; the open bin has none.
var starts, widths = func() (lo [Bins]float64, w [open]float64) {
	for i := range lo {
		lo[i] = float64(edges[i])
	}
	for i := range w {
		w[i] = lo[i+1] - lo[i]
	}
	return lo, w
}()

// step returns the index of the last edge that the age has reached.
func step(age time.Duration) int {
	age = max(age, 0)
	i := doubled[bits.Len64(uint64(age))]
	for i+1 < len(edges) && edges[i+1] <= age {
		i++
	}
	return i
}

// doubled[n] is the index of the last edge that all ages of n bits have reached. There are at most four edges between one such
// age and twice as much.
var doubled = func() (first [64]int) {
	for n := range first {
		for i, e := range edges {
			if n > 0 && e <= 1<<(n-1) {
				first[n] = i
			}
		}
	}
	return first
}()

// duration converts nanoseconds to an answer: at least 1 ns and at most longest.
func duration(ns float64) time.Duration {
	return time.Duration(min(max(ns, 1), float64(longest)))
}
