package forest

import (
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestTextsAreForests checks that the forest of a text is, bit for bit, the one whose text it is.
func TestTextsAreForests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawTable(t)
		c := small()
		c.Trees, c.MinLeaf, c.Median = rapid.IntRange(1, 5).Draw(t, "trees"), 1, rapid.Bool().Draw(t, "median")
		f := train(t, d.rows, d.targets, c)
		g := must.Get(f.Text().Forest())(t)
		for _, nodes := range [][]node{f.nodes, g.nodes} {
			for i := range nodes {
				if nodes[i].feature == leaf {
					nodes[i].right = 0 // unused in a leaf
				}
			}
		}
		if !slices.Equal(f.nodes, g.nodes) || !slices.Equal(f.roots, g.roots) || f.base != g.base || f.median != g.median ||
			f.features != g.features {
			t.Fatalf("it is %+v, want %+v", g, f)
		}
	})
}

func TestTextMistakes(t *testing.T) {
	split := Tree{[]int32{1, -1, -1}, []float32{.5, 1, 2}}
	f := must.Get((&Text{Features: 2, Trees: []Tree{split}}).Forest())(t)
	if f.Predict([]float32{0, 1}) != 2 || f.Predict([]float32{0, .5}) != 1 {
		t.Fatal("the smallest text with a split predicts something else")
	}
	for _, c := range []struct {
		name  string
		trees []Tree
		want  string
	}{
		{"no trees", nil, "no trees"},
		{"an empty tree", []Tree{split, {}}, "tree 1: it ends before its last leaf"},
		{"a split without leaves", []Tree{{[]int32{0, -1}, []float32{1, 0}}}, "ends before its last leaf"},
		{"a leaf too many", []Tree{{[]int32{-1, -1}, []float32{0, 0}}}, "node 1 after its last leaf"},
		{"a feature too many", []Tree{{[]int32{2, -1, -1}, []float32{0, 0, 0}}}, "feature 2, want 0 to 1"},
		{"a value too few", []Tree{{[]int32{-1}, nil}}, "1 features and 0 values"},
	} {
		if _, err := (&Text{Features: 2, Trees: c.trees}).Forest(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
