package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// table is a table of the comparison in the form of the page.
type table struct {
	Head   []headCell
	Rows   []row
	Folded int // number of columns that are shown on request
}

type headCell struct {
	Label, Unit, Arrow string
	About              string // explanation of the quantity
	More               bool   // shown on request
}

type row struct {
	Policy   []string // in parts between which a line may break; without the mark for truncated episodes
	Mark     string
	Look     string // CSS classes of the policy's lines
	Baseline bool
	Long     bool // whether the name may take two lines
	Cells    []cell
}

// cell is a number, or a difference: its mean, its interval, and whether the interval excludes 0.
type cell struct {
	Mean, Range string
	Bold, More  bool
}

// newTable converts a table of a comparison. It folds the columns that are not main columns.
func newTable(c *eval.Comparison, from eval.Table, policies []string) table {
	var t table
	for _, h := range append([]eval.Column{{Label: "policy", Main: true}}, from.Columns...) {
		if !h.Main {
			t.Folded++
		}
		t.Head = append(t.Head, headCell{h.Label, h.Unit, h.Arrow, h.About, !h.Main})
	}
	for _, from := range from.Rows {
		r := row{Policy: breakable(from.Policy), Look: look(slices.Index(policies, from.Policy)),
			Baseline: from.Policy == c.Baseline, Long: utf8.RuneCountInString(from.Policy) > 24}
		if from.Cut {
			r.Mark = "†"
		}
		for i, x := range from.Cells {
			r.Cells = append(r.Cells, cell{minus(x.Text), minus(x.Range), x.Bold, t.Head[i+1].More})
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// breakable splits the name of a policy at its options and suffixes, where a line may break.
func breakable(name string) []string {
	var parts []string
	for {
		i := strings.IndexAny(name[min(1, len(name)):], ":+")
		if i < 0 {
			return append(parts, name)
		}
		parts, name = append(parts, name[:i+1]), name[i+1:]
	}
}

// look returns the CSS classes for the colour and the dash of the i-th policy, as page/format.js defines them.
func look(i int) string { return fmt.Sprintf("p%d d%d", i%8, (i+i/8)%4) }

// minus replaces hyphens in a number by minus signs.
func minus(number string) string {
	if number == "-" {
		return "–"
	}
	return strings.ReplaceAll(number, "-", "−")
}

func hasInference(log *sim.Log) bool {
	return slices.ContainsFunc(log.Config.Cluster.Servers, func(s cluster.ServerSpec) bool { return s.Pool == cluster.Inference })
}

// term explains a column.
type term struct {
	Label, About string
	More         bool // whether the column is shown on request
}

// terms returns the explanations of the columns of all tables, each once.
func terms(sections []sectionView) []term {
	var all []term
	for i := range sections {
		for _, h := range sections[i].Means.Head {
			if h.About != "" && !slices.ContainsFunc(all, func(t term) bool { return t.Label == h.Label }) {
				all = append(all, term{h.Label, h.About, h.More})
			}
		}
	}
	return all
}
