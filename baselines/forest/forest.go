// Package forest is random-forest regression: the mean of many regression trees (CART; Breiman, "Random Forests", 2001),
// each grown on a bootstrap sample and choosing every split among a few features drawn for it. Splits are searched over
// histograms of at most 256 quantile bins a feature. It knows numbers only: whoever has categories encodes them first.
//
// Equal arguments give equal forests, bit for bit, whatever the number of workers. No forest, trained or read from a file,
// can loop or reach outside its arrays.
package forest

import (
	"fmt"
	"math"
	"slices"
)

// Config says how to grow a forest. All values are choices of this package.
type Config struct {
	Trees   int // 1 to 1024
	Depth   int // splits between root and leaf at most, 1 to 64
	MinLeaf int // rows of a bootstrap sample in a leaf, at least 1
	// Features is how many features each split draws, 0 for their square root, rounded up. Where none of them tells rows apart,
	// it draws on.
	Features int
	Bins     int // of a feature, 2 to 256
	// Median makes the forest answer with the median of its trees' answers, each the median of the targets in a leaf, instead
	// of means: nearer to most targets where their distribution is skewed or has several peaks. Splits minimise squared errors
	// either way.
	Median  bool
	Seed    uint64 // of bootstrap samples and drawn features
	Workers int    // trees grown at once, 0 for one each processor; it changes no bit of the result
}

// Limits of a forest, also of one in a file.
const (
	maxTrees    = 1024
	maxDepth    = 64
	maxFeatures = 4096
	maxNodes    = 1 << 24 // of all trees together
)

// Default returns 100 trees of depth 16 with at least 5 rows in a leaf, √p features a split and 256 bins.
func Default() Config {
	return Config{Trees: 100, Depth: 16, MinLeaf: 5, Bins: 256}
}

// Validate reports the first field that no forest can be grown with.
func (c Config) Validate() error {
	for _, f := range []struct {
		name            string
		value, from, to int
	}{
		{"trees", c.Trees, 1, maxTrees},
		{"depth", c.Depth, 1, maxDepth},
		{"min leaf", c.MinLeaf, 1, math.MaxInt32},
		{"features", c.Features, 0, maxFeatures},
		{"bins", c.Bins, 2, 256},
		{"workers", c.Workers, 0, 4096},
	} {
		if f.value < f.from || f.value > f.to {
			return fmt.Errorf("forest: %s %d, want %d to %d", f.name, f.value, f.from, f.to)
		}
	}
	return nil
}

// node is one of a tree, whose nodes stand in preorder: the left child of a split is the next node.
type node struct {
	feature int32   // of a split; leaf for a leaf
	right   int32   // index of the right child
	value   float32 // of a split: rows with the feature up to it go left; of a leaf: what is added to the base
}

const leaf = -1

// Forest is a trained forest. It is immutable: safe for concurrent use.
type Forest struct {
	features int
	median   bool    // of the trees' answers instead of the mean
	base     float64 // mean of the targets
	roots    []int32
	nodes    []node
}

// Features returns how many features a row has.
func (f *Forest) Features() int { return f.features }

// Predict returns the mean of the trees' answers for a row of Features values, or their median: see Config. A NaN goes right
// at every split. It does not allocate, and panics if the row has another length.
func (f *Forest) Predict(row []float32) float64 {
	if len(row) != f.features {
		panic(fmt.Sprintf("forest: row of %d features, want %d", len(row), f.features))
	}
	if f.median {
		return f.base + f.middle(row)
	}
	sum := 0.0
	for _, root := range f.roots {
		sum += float64(f.answer(root, row))
	}
	return f.base + sum/float64(len(f.roots))
}

// answer returns what one tree says.
func (f *Forest) answer(root int32, row []float32) float32 {
	i := root
	n := &f.nodes[i]
	for n.feature != leaf {
		if row[n.feature] <= n.value {
			i++
		} else {
			i = n.right
		}
		n = &f.nodes[i]
	}
	return n.value
}

// middle returns the median of what the trees say.
func (f *Forest) middle(row []float32) float64 {
	var all [maxTrees]float32
	answers := all[:len(f.roots)]
	for k, root := range f.roots {
		answers[k] = f.answer(root, row)
	}
	slices.Sort(answers)
	n := len(answers)
	return (float64(answers[(n-1)/2]) + float64(answers[n/2])) / 2
}
