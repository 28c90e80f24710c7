package reproduce

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/clustergym/clustergym/internal/table"
)

// WriteText writes the report as aligned text.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", r.Title, r.legend())
	for _, t := range r.tables() {
		fmt.Fprintf(&b, "\n%s\n", t.name)
		table.Text(&b, 2, t.cells)
	}
	b.WriteString("\nwhat is published, and whether it holds here\n")
	table.Text(&b, 2, r.claims())
	for _, note := range r.notes() {
		b.WriteString("\n" + note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the report as Markdown, with the description of what differs from the paper.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", r.Title, r.legend())
	for _, t := range r.tables() {
		fmt.Fprintf(&b, "\n## %s\n\n", t.name)
		table.Markdown(&b, t.cells)
	}
	b.WriteString("\n## What is published, and whether it holds here\n\n")
	table.Markdown(&b, r.claims())
	for _, note := range r.notes() {
		b.WriteString("\n" + note + "\n")
	}
	b.WriteString("\n## What is run, and what differs from the paper\n")
	for _, p := range r.About {
		b.WriteString("\n" + p + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) legend() string {
	s := "Times in seconds, shares in percent."
	for i := range r.Rows {
		if !r.Rows[i].Paper.IsZero() {
			s = "Ours, and the paper's in parentheses. " + s
			break
		}
	}
	if len(r.Seeds) > 1 {
		s += fmt.Sprintf(" Means ± standard deviations over %d seeds.", len(r.Seeds))
	}
	return s
}

// section is a group of rows with its title.
type section struct {
	name  string
	cells [][]string
}

func (r *Report) tables() []section {
	var all []section
	for i := range r.Rows {
		row := &r.Rows[i]
		if len(all) == 0 || all[len(all)-1].name != row.Table {
			head := []string{"scheme", "policy"}
			for _, m := range r.columns {
				head = append(head, m.String())
			}
			all = append(all, section{row.Table, [][]string{head}})
		}
		t := &all[len(all)-1]
		t.cells = append(t.cells, row.cells(r.columns))
	}
	return all
}

func (r *Result) cells(columns []Metric) []string {
	cells := []string{r.Name, r.Policy}
	for _, m := range columns {
		cell := "-"
		if r.Error == "" {
			cell = m.show(r.Mean[m])
			if s := r.Spread[m]; !math.IsNaN(s) && !math.IsNaN(r.Mean[m]) {
				cell += " ± " + m.show(s)
			}
		}
		if !math.IsNaN(r.Paper[m]) {
			cell += " (" + m.show(r.Paper[m]) + ")"
		}
		cells = append(cells, cell)
	}
	return cells
}

func (r *Report) claims() [][]string {
	rows := [][]string{{"claim", "figures", "ratio", "paper", "bar", "outcome", "seeds"}}
	number := func(x float64) string {
		if x == 0 || math.IsNaN(x) {
			return ""
		}
		return fmt.Sprintf("%.2f", x)
	}
	for i := range r.Claims {
		c := &r.Claims[i]
		seeds := ""
		if c.Outcome != untried {
			seeds = fmt.Sprintf("%d of %d", c.Seeds, len(r.Seeds))
		}
		rows = append(rows, []string{c.Text, c.Shown, number(c.Ours), number(c.Paper), number(c.Bar), c.Outcome, seeds})
	}
	return rows
}

// notes returns paragraphs on why rows have no figures and why claims do not hold.
func (r *Report) notes() []string {
	var notes []string
	for i := range r.Rows {
		row := &r.Rows[i]
		switch {
		case row.Error != "":
			notes = append(notes, fmt.Sprintf("%s (%s) has no figures: %s.", row.Name, row.Policy, row.Error))
		case row.Mean[unfinished] > 0:
			notes = append(notes, fmt.Sprintf("%s (%s) left %s jobs unfinished: its JCTs leave them out.",
				row.Name, row.Policy, unfinished.show(row.Mean[unfinished])))
		}
	}
	said := map[string]bool{}
	for i, c := range r.Claims {
		if c.Why == "" || said[c.Why] {
			continue
		}
		said[c.Why] = true
		var claims []string // all claims with the same reason
		for _, other := range r.Claims[i:] {
			if other.Why == c.Why {
				claims = append(claims, other.Text)
			}
		}
		notes = append(notes, fmt.Sprintf("%s: %s.", strings.Join(claims, "; "), c.Why))
	}
	return notes
}
