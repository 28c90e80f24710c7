package eval

import (
	"fmt"
	"math"
	"slices"
)

// Table is a part of a comparison, laid out: a policy a row.
type Table struct {
	Columns []Column // of the cells
	Rows    []TableRow
}

// Column is the head of a column. Main ones are shown at once, the others on request.
type Column struct {
	Label, Unit, Arrow string
	About              string // what the quantity is, if it is one
	Main               bool
	starred            bool // text marks cells that are bold
}

// TableRow is what a table says of one policy.
type TableRow struct {
	Policy string
	Cut    bool // its episodes were cut off before every job finished
	Cells  []Cell
}

// Cell is a number as text, for a difference with its interval, bold where that excludes 0.
type Cell struct {
	Text, Range string
	Bold        bool
	Difference  *Difference // that it shows, if it is one
}

// Means lays out the means of all quantities. Those that are rare are told only where they are not 0.
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

// Differences lays out the paired differences of some quantities, in percent: a policy other than the baseline a row.
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
	wins := Column{Label: "wins", Main: true, About: "Windows with a lower mean JCT."}
	t.Columns = append(slices.Insert(t.Columns, 1, middle), wins)
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
		row.Cells = append(row.Cells, Cell{Text: fmt.Sprintf("%d/%d", p.Metrics[0].Wins, len(c.Windows))})
		t.Rows = append(t.Rows, row)
	}
	return t
}

// cell shows a difference in percent.
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

// middle shows an inter-quartile mean, with its interval where seeds differ. It is never bold: windows are not drawn again.
func (d *Difference) middle() Cell {
	c := d.cell()
	if c.Bold = false; d != nil && d.Lo == d.Hi {
		c.Range = ""
	}
	return c
}
