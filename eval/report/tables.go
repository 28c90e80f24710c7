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

// table is one of the comparison's as the page shows it.
type table struct {
	Head   []headCell
	Rows   []row
	Folded int // columns that are shown on request
}

type headCell struct {
	Label, Unit, Arrow string
	About              string // what the quantity is
	More               bool   // shown on request
}

type row struct {
	Policy   []string // in parts between which a line may break; without the mark of a policy that was cut off
	Mark     string
	Look     string // classes of its lines
	Baseline bool
	Long     bool // the name may take two lines
	Cells    []cell
}

// cell is a number, or a difference: its mean, its interval, and whether that excludes 0.
type cell struct {
	Mean, Range string
	Bold, More  bool
}

// newTable turns a part of a comparison into a table. Columns that are not among the main ones are folded.
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

// breakable cuts the name of a policy before its options and suffixes.
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

// look names the colour and the dash of the policy with that index, as page/format.js does.
func look(i int) string { return fmt.Sprintf("p%d d%d", i%8, (i+i/8)%4) }

// minus sets the sign that numbers have in print.
func minus(number string) string {
	if number == "-" {
		return "–"
	}
	return strings.ReplaceAll(number, "-", "−")
}

func hasInference(log *sim.Log) bool {
	return slices.ContainsFunc(log.Config.Cluster.Servers, func(s cluster.ServerSpec) bool { return s.Pool == cluster.Inference })
}

// term says what a column is.
type term struct {
	Label, About string
	More         bool // of a column that is shown on request
}

// terms explains the columns of all tables, each once.
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
