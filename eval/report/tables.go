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

// meansTable shows the main quantities at once and all on request.
func meansTable(c *eval.Comparison, policies []string) table {
	return newTable(c, c.Means(true), c.Means(false)[0], policies)
}

func differencesTable(c *eval.Comparison, policies []string) table {
	rows := c.Differences()
	return newTable(c, rows, rows[0], policies)
}

// newTable turns rows of text, the first of them the head, into a table. Columns that are not among the main ones are folded.
func newTable(c *eval.Comparison, rows [][]string, main, policies []string) table {
	var t table
	for _, text := range rows[0] {
		h := parseHead(text)
		if h.More = !slices.Contains(main, text); h.More {
			t.Folded++
		}
		t.Head = append(t.Head, h)
	}
	for _, cells := range rows[1:] {
		name, cut := strings.CutSuffix(cells[0], "†")
		r := row{Policy: breakable(name), Look: look(slices.Index(policies, name)), Baseline: name == c.Baseline,
			Long: utf8.RuneCountInString(name) > 24}
		if cut {
			r.Mark = "†"
		}
		for i, text := range cells[1:] {
			x := parseCell(text)
			x.More = t.Head[i+1].More
			r.Cells = append(r.Cells, x)
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

// parseHead splits "mean JCT s ↓".
func parseHead(text string) headCell {
	h := headCell{Label: text}
	for _, arrow := range []string{"↑", "↓"} {
		if label, ok := strings.CutSuffix(h.Label, " "+arrow); ok {
			h.Label, h.Arrow = label, arrow
		}
	}
	for _, q := range eval.Quantities() {
		if unit, ok := strings.CutPrefix(h.Label, q.Label); ok && strings.TrimSpace(unit) == q.Unit {
			h.Label, h.Unit, h.About = q.Label, q.Unit, q.About
			break
		}
	}
	return h
}

// parseCell splits what a text table shows: "-12.3 [-14.1, -10.4] *".
func parseCell(text string) cell {
	text, bold := strings.CutSuffix(strings.TrimSpace(text), " *")
	mean, interval, ok := strings.Cut(text, " [")
	if !ok {
		return cell{Mean: minus(mean), Bold: bold}
	}
	return cell{Mean: minus(mean), Range: minus("[" + interval), Bold: bold}
}

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
