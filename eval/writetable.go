package eval

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/table"
)

// compared reports whether text tables show the differences of a quantity. The JSON contains the differences of all quantities.
func compared(key string) bool {
	return slices.Contains([]string{"mean_jct_s", "p99_jct_s", "mean_queueing_s", "mean_slowdown", "makespan_s"}, key)
}

// Screen is what a text table is written for. The zero value is a file or a pipe.
type Screen struct {
	Width  int  // columns; a wider table is cut into tables below each other. 0 means any width
	Colour bool // show differences whose interval excludes 0 in green if they are for the better, otherwise in red
}

// WriteTable writes the comparison as aligned text: the means, then the paired differences with their intervals.
func (c *Comparison) WriteTable(w io.Writer, to Screen) error {
	var b strings.Builder
	b.WriteString(c.title() + "\n\n")
	costs, means, differences := c.Costs(), c.Means(), c.Differences()
	write := func(t *Table) {
		for i, part := range table.Parts(1, to.Width, t.text(to.Colour)) {
			if i > 0 {
				b.WriteString("\n")
			}
			table.Text(&b, 1, part)
		}
	}
	if len(c.costs) > 0 {
		b.WriteString(c.costLegend() + "\n\n")
		write(&costs)
		for i, q := range c.costs {
			if parts := c.Parts(i); len(parts.Columns) > 0 {
				fmt.Fprintf(&b, "\nWho pays by %s, %s: terms, jobs by their GPUs, and tenants\n\n", q.Label, q.Unit)
				write(&parts)
			}
		}
		b.WriteString("\n")
	}
	write(&means)
	if len(c.Policies) > 1 {
		b.WriteString("\n" + c.legend() + "\n\n")
		write(&differences)
	}
	for _, note := range c.Notes() {
		b.WriteString("\n" + note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Comparison) title() string {
	name := c.Scenario
	if c.Split != "" {
		name += ", " + c.Split
	}
	return fmt.Sprintf("%s: means over %s x %s", name, phrase.Count(len(c.Windows), "window"), phrase.Count(len(c.Seeds), "seed"))
}

// legend explains the table of differences.
func (c *Comparison) legend() string {
	return fmt.Sprintf("Difference from %s per window, %%, [%g %% interval] over %s;\n"+
		"* the interval excludes 0, - the baseline is 0;\n"+
		"IQM: mean of the middle half of windows and seeds [over seeds]; wins in mean JCT",
		c.Baseline, 100*c.Level, phrase.Count(len(c.Windows), "window"))
}

// Notes returns warnings that limit how far the figures can be trusted.
func (c *Comparison) Notes() []string {
	var notes []string
	if len(c.Windows) < 2 {
		notes = append(notes, "One window bounds no difference: run more windows for intervals.")
	}
	if c.Few != "" {
		notes = append(notes, c.Few)
	}
	if c.Note != "" {
		notes = append(notes, fmt.Sprintf("The windows of the %s split are %s.", c.Split, c.Note))
	}
	for _, p := range c.Policies {
		if p.Truncated > 0 {
			notes = append(notes, fmt.Sprintf("† %s: %s cut off before every job finished; its JCTs leave those jobs out.",
				p.Policy, phrase.Count(p.Truncated, "episode")))
		}
	}
	return notes
}

// text returns the main columns as text. In a column whose cells may have a star, each cell ends in a star or a blank, so that
// numbers align. With colour, a cell that has a star is green or red.
func (t *Table) text(colour bool) [][]string {
	rows := [][]string{{"policy"}}
	for _, c := range t.Columns {
		if c.Main {
			rows[0] = append(rows[0], strings.Join(strings.Fields(c.Label+" "+c.Unit+" "+c.Arrow), " "))
		}
	}
	for _, r := range t.Rows {
		name := r.Policy
		if r.Cut {
			name += "†"
		}
		row := []string{name}
		for i, c := range r.Cells {
			column := t.Columns[i]
			if !column.Main {
				continue
			}
			text := strings.TrimSpace(c.Text + " " + c.Range)
			switch {
			case column.starred && c.Bold:
				text += " *"
			case column.starred:
				text += "  "
			}
			if colour && column.starred && c.Bold {
				text = paint(text, (c.Difference.Mean < 0) == (column.Arrow == "↓"))
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return rows
}

// paint makes text green on a terminal if it is good, otherwise red.
func paint(text string, good bool) string {
	if good {
		return "\x1b[32m" + text + "\x1b[0m"
	}
	return "\x1b[31m" + text + "\x1b[0m"
}

func percent(n Number) string {
	if x := float64(n); math.Abs(x) >= 1000 {
		return fmt.Sprintf("%+.0f", x)
	}
	s := fmt.Sprintf("%+.1f", float64(n))
	if s == "-0.0" {
		return "+0.0"
	}
	return s
}

// show formats a value in the quantity's unit.
func (q Quantity) show(x float64) string {
	fraction := q.Unit == "%" && q.cost == 0 // the unit of a cost is its user's
	switch {
	case fraction && x != 0 && math.Abs(x) < 0.01:
		return strconv.FormatFloat(100*x, 'f', 3, 64)
	case fraction:
		return strconv.FormatFloat(100*x, 'f', 1, 64)
	case x == math.Trunc(x) || math.Abs(x) >= 100:
		return table.Thousands(strconv.FormatFloat(x, 'f', 0, 64))
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// Markdown returns a table of some quantities, with a row for each policy and a column for each scenario and quantity. The
// baseline's cells are means. The other cells are differences from the baseline in percent, bold if they are separable. Each key
// must be the Key of a Quantity, or CostKey of an objective, and there must be at least one comparison. Costs by objectives are
// followed by a table of their terms.
func Markdown(all []Comparison, keys ...string) string {
	rows := map[string][]string{}
	var names []string
	head := []string{"policy"}
	for i := range all {
		c := &all[i]
		quantities := c.quantities()
		for n, key := range keys {
			k := slices.IndexFunc(quantities, func(q Quantity) bool { return q.Key == key })
			q, title := quantities[k], c.Scenario
			if q.cost > 0 {
				title += ", " + q.Label
			}
			head = append(head, fmt.Sprintf("%s, %s", title, phrase.Count(len(c.Windows), "window")))
			for _, p := range c.Policies {
				if rows[p.Policy] == nil {
					rows[p.Policy] = make([]string, len(all)*len(keys))
					names = append(names, p.Policy)
				}
				cell := strings.TrimSpace(q.show(float64(p.Metrics[k].Mean)) + " " + q.Unit)
				if p.Policy != c.Baseline {
					d := p.Metrics[k].Relative.cell()
					if cell = strings.TrimSpace(d.Text + " " + d.Range); d.Bold {
						cell = "**" + cell + "**"
					}
				}
				rows[p.Policy][i*len(keys)+n] = cell
			}
		}
	}
	// Put the baseline first.
	if at := slices.Index(names, all[0].Baseline); at > 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, all[0].Baseline)
	}
	cells := [][]string{head}
	for _, name := range names {
		cells = append(cells, append([]string{name}, rows[name]...))
	}
	var b strings.Builder
	table.Markdown(&b, cells)
	if slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, CostKey("")) }) {
		markdownParts(&b, all, names)
	}
	return b.String()
}
