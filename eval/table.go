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

// compared says whether tables show the differences of a quantity; the JSON has those of all.
func compared(key string) bool {
	return slices.Contains([]string{"mean_jct_s", "p99_jct_s", "mean_queueing_s", "mean_slowdown", "makespan_s"}, key)
}

// WriteTable writes the comparison as aligned text: the means, then the paired differences with their intervals.
func (c *Comparison) WriteTable(w io.Writer) error {
	var b strings.Builder
	b.WriteString(c.title() + "\n\n")
	table.Text(&b, 1, c.Means(false))
	if len(c.Policies) > 1 {
		b.WriteString("\n" + c.Legend() + "\n\n")
		table.Text(&b, 1, c.Differences())
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

// Legend says what the table of differences shows.
func (c *Comparison) Legend() string {
	return fmt.Sprintf("Difference from %s in the same window, %%, [%g %% interval] over %s;\n"+
		"* excludes 0, - has a baseline of 0; IQM: the middle half of windows and seeds, [over seeds]; wins in mean JCT",
		c.Baseline, 100*c.Level, phrase.Count(len(c.Windows), "window"))
}

// Notes are warnings about what the figures stand on.
func (c *Comparison) Notes() []string {
	var notes []string
	if len(c.Windows) < 2 {
		notes = append(notes, "One window bounds no difference: run more windows for intervals.")
	}
	for _, p := range c.Policies {
		if p.Truncated > 0 {
			notes = append(notes, fmt.Sprintf("† %s: %s cut off before every job finished; its JCTs leave those jobs out.",
				p.Policy, phrase.Count(p.Truncated, "episode")))
		}
	}
	return notes
}

// Means returns the cells of the first table, a policy a row: the main quantities, or all. Those that are rare are told only
// where they are not 0.
func (c *Comparison) Means(everything bool) [][]string {
	head := []string{"policy"}
	all := Quantities()
	told := func(i int) bool {
		never := func() bool {
			return !slices.ContainsFunc(c.Policies, func(s Summary) bool { return s.Metrics[i].Mean != 0 })
		}
		return (everything || all[i].Main) && !(all[i].rare && never())
	}
	for i, q := range all {
		if told(i) {
			head = append(head, strings.TrimSpace(q.Label+" "+q.Unit)+" "+q.Arrow())
		}
	}
	rows := [][]string{head}
	for _, p := range c.Policies {
		row := []string{p.label()}
		for i, q := range all {
			if told(i) {
				row = append(row, q.show(float64(p.Metrics[i].Mean)))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// Differences returns the cells of the second table: a policy other than the baseline a row.
func (c *Comparison) Differences() [][]string {
	head := []string{"policy"}
	for _, q := range Quantities() {
		if compared(q.Key) {
			head = append(head, q.Label+" "+q.Arrow())
		}
	}
	head = slices.Insert(head, 2, "IQM of JCT ↓")
	rows := [][]string{append(head, "wins")}
	for _, p := range c.Policies {
		if p.Policy == c.Baseline {
			continue
		}
		row := []string{p.label()}
		for _, m := range p.Metrics {
			if compared(m.Key) {
				row = append(row, m.Relative.show())
			}
		}
		row = slices.Insert(row, 2, p.Metrics[0].Middle.middle())
		rows = append(rows, append(row, fmt.Sprintf("%d/%d", p.Metrics[0].Wins, len(c.Windows))))
	}
	return rows
}

func (s *Summary) label() string {
	if s.Truncated > 0 {
		return s.Policy + "†"
	}
	return s.Policy
}

// show writes a difference in percent; every cell ends in a star or a blank, so that numbers align.
func (d *Difference) show() string {
	if d == nil {
		return "-  "
	}
	s := percent(d.Mean)
	if !math.IsInf(float64(d.Lo), 0) {
		s += " [" + percent(d.Lo) + ", " + percent(d.Hi) + "]"
	}
	if d.Separable() {
		return s + " *"
	}
	return s + "  "
}

// middle writes an inter-quartile mean, with its interval where seeds differ. It has no star: windows are not drawn again.
func (d *Difference) middle() string {
	if d == nil || d.Lo == d.Hi || math.IsInf(float64(d.Lo), 0) {
		text, _, _ := strings.Cut(d.show(), " [")
		return text
	}
	return strings.TrimRight(d.show(), " *")
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

// show writes a value in the quantity's unit.
func (q Quantity) show(x float64) string {
	switch {
	case q.Unit == "%" && x != 0 && math.Abs(x) < 0.01:
		return strconv.FormatFloat(100*x, 'f', 3, 64)
	case q.Unit == "%":
		return strconv.FormatFloat(100*x, 'f', 1, 64)
	case x == math.Trunc(x) || math.Abs(x) >= 100:
		return table.Thousands(strconv.FormatFloat(x, 'f', 0, 64))
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// Markdown returns the comparisons of a plan as one table: a policy a row, a scenario a column, in each the mean of a quantity
// for the baseline and for the others the difference from it in percent, bold where it is separable.
func Markdown(all []Comparison, key string) string {
	k := slices.Index(quantityKeys(), key)
	q := Quantities()[k]
	rows := map[string][]string{}
	var names []string
	head := []string{"policy"}
	for i := range all {
		c := &all[i]
		head = append(head, fmt.Sprintf("%s, %s", c.Scenario, phrase.Count(len(c.Windows), "window")))
		for _, p := range c.Policies {
			if rows[p.Policy] == nil {
				rows[p.Policy] = make([]string, len(all))
				names = append(names, p.Policy)
			}
			cell := strings.TrimSpace(q.show(float64(p.Metrics[k].Mean)) + " " + q.Unit)
			if p.Policy != c.Baseline {
				var bold bool
				if cell, bold = strings.CutSuffix(strings.TrimSpace(p.Metrics[k].Relative.show()), " *"); bold {
					cell = "**" + cell + "**"
				}
			}
			rows[p.Policy][i] = cell
		}
	}
	// The baseline leads.
	if at := slices.Index(names, all[0].Baseline); at > 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, all[0].Baseline)
	}
	cells := [][]string{head}
	for _, name := range names {
		cells = append(cells, append([]string{name}, rows[name]...))
	}
	var b strings.Builder
	table.Markdown(&b, cells)
	return b.String()
}
