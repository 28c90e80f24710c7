package forest

import (
	"slices"
	"sort"
)

// column is one feature, divided into bins: row i is in the first bin whose edge is not below its value, or in the last.
type column struct {
	feature int32
	edges   []float32 // ascending; there is one more bin than edges
	bins    []uint8   // by row
}

// binned divides every feature into at most the parameter most bins with about equal numbers of rows. It leaves out features
// that are the same in all rows. rows contains the rows one after the other.
func binned(rows []float32, features, most int) []column {
	n := len(rows) / features
	values, sorted := make([]float32, n), make([]float32, n)
	var columns []column
	for f := range features {
		for i := range values {
			values[i] = rows[i*features+f]
		}
		copy(sorted, values)
		slices.Sort(sorted)
		edges := quantiles(sorted, most)
		if len(edges) == 0 {
			continue
		}
		bins := make([]uint8, n)
		for i, v := range values {
			bins[i] = uint8(sort.Search(len(edges), func(k int) bool { return v <= edges[k] }))
		}
		columns = append(columns, column{int32(f), edges, bins})
	}
	return columns
}

// quantiles returns edges that divide sorted values into at most the parameter most bins. Every edge lies between two different
// values. If there are no more distinct values than bins, each has its own bin.
func quantiles(sorted []float32, most int) []float32 {
	distinct := 1
	for i := 1; i < len(sorted); i++ {
		if sorted[i] != sorted[i-1] {
			distinct++
		}
	}
	var edges []float32
	if distinct <= most {
		for i := 1; i < len(sorted); i++ {
			if sorted[i] != sorted[i-1] {
				edges = append(edges, between(sorted[i-1], sorted[i]))
			}
		}
		return edges
	}
	last := 0 // first row of the present bin
	for k := 1; k < most; k++ {
		at := k * len(sorted) / most
		for at < len(sorted) && at > 0 && sorted[at] == sorted[at-1] { // equal values stay in one bin
			at++
		}
		if at > last && at < len(sorted) {
			edges = append(edges, between(sorted[at-1], sorted[at]))
			last = at
		}
	}
	return edges
}

// between returns the middle of a < b, or a if no float32 lies between them.
func between(a, b float32) float32 {
	if m := a/2 + b/2; a <= m && m < b {
		return m
	}
	return a
}
