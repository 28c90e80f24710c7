package eval

import (
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/internal/phrase"
)

// Table is a comparison, or part of one, as rows and columns, with one row for each policy.
type Table struct {
	Columns []Column // one for each cell of a row
	Rows    []TableRow
}

// Column is the heading of a column.
type Column struct {
	Label, Unit, Arrow string // Arrow points up if higher values are better, otherwise down
	About              string // an explanation of the quantity
	Main               bool   // whether it is shown at once; other columns are shown on request
	starred            bool   // in text, bold cells of this column get a star
}

// TableRow is the row of one policy.
type TableRow struct {
	Policy string
	Cut    bool // some of its episodes were truncated before all jobs finished
	Cells  []Cell
}

// Cell is a number as text. For a difference, Range is its interval, and Bold is true if the interval excludes 0.
type Cell struct {
	Text, Range string
	Bold        bool
	Difference  *Difference // the difference that the cell shows; nil for other numbers
}

// Means returns a table of the means of all quantities. It omits rare quantities that are 0 for all policies.
func (c *Comparison) Means() Table {
	var t Table
	for _, p := range c.Policies {
		t.Rows = append(t.Rows, TableRow{Policy: p.Policy, Cut: p.Truncated > 0})
	}
	for i, q := range Quantities() {
		if q.rare && !slices.ContainsFunc(c.Policies, func(s Summary) bool { return s.Metrics[i].Mean != 0 }) {
			continue
		}
		t.Columns = append(t.Columns, Column{Label: q.Label, Unit: q.Unit, Arrow: q.arrow(), About: q.About, Main: q.Main})
		for k, p := range c.Policies {
			t.Rows[k].Cells = append(t.Rows[k].Cells, Cell{Text: q.show(float64(p.Metrics[i].Mean))})
		}
	}
	return t
}

// Differences returns a table of the paired differences of some quantities, in percent, with a row for each policy except the
// baseline.
func (c *Comparison) Differences() Table {
	var t Table
	for _, q := range Quantities() {
		if compared(q.Key) {
			t.Columns = append(t.Columns, Column{Label: q.Label, Arrow: q.arrow(), About: q.About, Main: true, starred: true})
		}
	}
	middle := Column{
		Label: "IQM of JCT", Arrow: "↓", Main: true,
		About: "Inter-quartile mean of the differences in mean JCT, one a window and seed, with an interval over seeds.",
	}
	t.Columns = append(slices.Insert(t.Columns, 1, middle), wins("mean JCT"))
	for _, p := range c.Policies {
		if p.Policy == c.Baseline {
			continue
		}
		row := TableRow{Policy: p.Policy, Cut: p.Truncated > 0}
		for _, m := range p.Metrics {
			if compared(m.Key) {
				row.Cells = append(row.Cells, m.Relative.cell())
			}
		}
		row.Cells = slices.Insert(row.Cells, 1, p.Metrics[0].Middle.middle())
		row.Cells = append(row.Cells, Cell{Text: won(&p.Metrics[0], len(c.Windows))})
		t.Rows = append(t.Rows, row)
	}
	return t
}

// wins returns the column of won.
func wins(what string) Column {
	return Column{Label: "wins", Main: true, About: "Windows with a lower " + what + ", of all; in ties both are equal."}
}

// won says in how many of the windows the policy is better than the baseline, and in how many both are equal.
func won(m *Metric, windows int) string {
	text := fmt.Sprintf("%d/%d", m.Wins, windows)
	if m.Ties > 0 {
		text += ", " + phrase.Count(m.Ties, "tie")
	}
	return text
}

// cell formats a difference in percent.
func (d *Difference) cell() Cell {
	if d == nil {
		return Cell{Text: "-"}
	}
	c := Cell{Text: percent(d.Mean), Bold: d.Separable(), Difference: d}
	if !math.IsInf(float64(d.Lo), 0) {
		c.Range = "[" + percent(d.Lo) + ", " + percent(d.Hi) + "]"
	}
	return c
}

// middle formats an interquartile mean, with its interval if seeds differ. The cell is never bold, because the bootstrap does not
// resample windows.
func (d *Difference) middle() Cell {
	c := d.cell()
	if c.Bold = false; d != nil && d.Lo == d.Hi {
		c.Range = ""
	}
	return c
}
