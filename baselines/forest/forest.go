// Package forest is random-forest regression: the mean of many regression trees (CART; Breiman, "Random Forests", 2001). Each
// tree is grown on a bootstrap sample and chooses every split among a few features drawn for it. Splits are searched over
// histograms of at most 256 quantile bins per feature. Features are numbers; the caller encodes categories.
//
// Equal arguments give equal forests, bit for bit, whatever the number of workers. No forest, trained or read from a file, can
// loop or access memory outside its arrays.
package forest

import (
	"fmt"
	"math"
	"slices"
)

// Config are the settings for growing a forest. All values are choices of this package.
type Config struct {
	Trees   int `predictor:"trees,need"`    // 1 to 1024
	Depth   int `predictor:"depth,need"`    // largest number of splits between root and leaf, 1 to 64
	MinLeaf int `predictor:"min_leaf,need"` // least number of rows of the bootstrap sample in a leaf, at least 1
	// Features is the number of features drawn for each split; 0 means the square root of the number of all features, rounded up.
	// If none of the features drawn can split the rows, more are drawn.
	Features int `predictor:"features,need"`
	Bins     int `predictor:"bins,need"` // largest number of bins of a feature, 2 to 256
	// Median makes the forest predict the median of its trees' answers, each the median of the targets in a leaf, instead of means.
	// The median is closer to most targets if their distribution is skewed or has several peaks. Splits minimise squared errors in
	// both cases.
	Median  bool   `predictor:"median,need"`
	Seed    uint64 // of bootstrap samples and drawn features
	Workers int    // number of trees grown at once; 0: one per processor; it does not change the result
}

// Limits of a forest, also of one read from a file.
const (
	maxTrees    = 1024
	maxDepth    = 64
	maxFeatures = 4096
	maxNodes    = 1 << 24 // of all trees together
)

// Default returns settings for 100 trees of depth 16 with at least 5 rows in a leaf, √p features per split and 256 bins.
func Default() Config {
	return Config{Trees: 100, Depth: 16, MinLeaf: 5, Bins: 256}
}

// Validate returns an error about the first field that is out of range.
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

// node is a node of a tree. The nodes of a tree are in preorder: the left child of a split is the next node.
type node struct {
	feature int32   // on which a split is made; leaf for a leaf
	right   int32   // index of the right child
	value   float32 // of a split: rows whose feature is at most value go left; of a leaf: what it adds to the base
}

const leaf = -1

// Forest is a trained forest. It is immutable and safe for concurrent use.
type Forest struct {
	features int
	median   bool    // predict the median of the trees' answers instead of their mean
	base     float64 // mean of the targets
	roots    []int32
	nodes    []node
}

// Features returns the number of features of a row.
func (f *Forest) Features() int { return f.features }

// Predict returns the mean of the trees' answers for a row of Features values, or their median (see Config). At every split a
// NaN goes right. Predict does not allocate. It panics if the row has another length.
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

// answer returns the answer of one tree.
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

// middle returns the median of the trees' answers.
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
