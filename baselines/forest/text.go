package forest

import (
	"errors"
	"fmt"
)

// Text is a forest as a file of a predictor holds it. Preorder determines the children of each node, so that no file can contain
// inconsistent links.
type Text struct {
	Features int     `predictor:"features,need,1..4096"`
	Median   bool    `predictor:"median,need"`
	Base     float64 `predictor:"base,need,-1e30..1e30"`
	Trees    []Tree  `predictor:"trees,need,most=1024,lines"`
}

// Tree is a tree of a Text: of each node, in preorder, the feature of its split, or -1 for a leaf, and its value.
type Tree struct {
	Features []int32   `predictor:"features,need,-1..4095,most=16777216"`
	Values   []float32 `predictor:"values,need,most=16777216"`
}

// Text returns the forest as a file holds it.
func (f *Forest) Text() *Text {
	t := &Text{Features: f.features, Median: f.median, Base: f.base}
	for k, root := range f.roots {
		end := len(f.nodes)
		if k+1 < len(f.roots) {
			end = int(f.roots[k+1])
		}
		var tree Tree
		for _, n := range f.nodes[root:end] {
			tree.Features, tree.Values = append(tree.Features, n.feature), append(tree.Values, n.value)
		}
		t.Trees = append(t.Trees, tree)
	}
	return t
}

// Forest returns the forest of a text. It predicts exactly, bit for bit, what the forest of the text does.
func (t *Text) Forest() (*Forest, error) {
	f := &Forest{features: t.Features, median: t.Median, base: t.Base}
	if len(t.Trees) == 0 {
		return nil, errors.New("no trees, want at least 1")
	}
	for k := range t.Trees {
		f.roots = append(f.roots, int32(len(f.nodes)))
		if err := f.plant(&t.Trees[k]); err != nil {
			return nil, fmt.Errorf("tree %d: %w", k, err)
		}
	}
	return f, nil
}

// plant appends one tree.
func (f *Forest) plant(t *Tree) error {
	if len(t.Features) != len(t.Values) || len(f.nodes)+len(t.Values) > maxNodes {
		return fmt.Errorf("%d features and %d values, want as many, and at most %d nodes in all", len(t.Features), len(t.Values),
			maxNodes)
	}
	var splits []int32 // nodes that wait for their right child, which comes after the left child and all nodes below that
	done := false
	for i, feature := range t.Features {
		me := int32(len(f.nodes))
		switch {
		case done:
			return fmt.Errorf("node %d after its last leaf", i)
		case int(feature) >= f.features:
			return fmt.Errorf("node %d splits by feature %d, want 0 to %d", i, feature, f.features-1)
		}
		f.nodes = append(f.nodes, node{feature: feature, value: t.Values[i]})
		switch {
		case feature != leaf:
			splits = append(splits, me)
		case len(splits) == 0:
			done = true
		default:
			last := splits[len(splits)-1]
			splits = splits[:len(splits)-1]
			f.nodes[last].right = me + 1
		}
	}
	if !done {
		return errors.New("it ends before its last leaf")
	}
	return nil
}
