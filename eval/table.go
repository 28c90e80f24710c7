package eval

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// compared says whether tables show the differences of a quantity; the JSON has those of all.
func compared(key string) bool {
	return slices.Contains([]string{"mean_jct_s", "p99_jct_s", "mean_queueing_s", "mean_slowdown", "makespan_s"}, key)
}

// WriteTable writes the comparison as aligned text: the means, then the paired differences with their intervals.
func (c *Comparison) WriteTable(w io.Writer) error {
	var b strings.Builder
	b.WriteString(c.title() + "\n\n")
	align(&b, c.means())
	if len(c.Policies) > 1 {
		b.WriteString("\n" + c.legend() + "\n\n")
		align(&b, c.differences())
	}
	for _, note := range c.notes() {
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
	return fmt.Sprintf("%s: means over %s x %s", name, count(len(c.Windows), "window"), count(len(c.Seeds), "seed"))
}

func (c *Comparison) legend() string {
	return fmt.Sprintf("Difference from %s in the same window, %%, [%g %% interval] over %s;\n"+
		"* excludes 0, - has a baseline of 0; wins in mean JCT",
		c.Baseline, 100*c.Level, count(len(c.Windows), "window"))
}

func (c *Comparison) notes() []string {
	var notes []string
	if len(c.Windows) < 2 {
		notes = append(notes, "One window bounds no difference: run more windows for intervals.")
	}
	for _, p := range c.Policies {
		if p.Truncated > 0 {
			notes = append(notes, fmt.Sprintf("† %s: %s cut off before every job finished; its JCTs leave those jobs out.",
				p.Policy, count(p.Truncated, "episode")))
		}
	}
	return notes
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// means returns the cells of the first table: a policy a row.
func (c *Comparison) means() [][]string {
	head := []string{"policy"}
	all := Quantities()
	told := func(i int) bool {
		return !all[i].rare || slices.ContainsFunc(c.Policies, func(s Summary) bool { return s.Metrics[i].Mean != 0 })
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

// differences returns the cells of the second table: a policy other than the baseline a row.
func (c *Comparison) differences() [][]string {
	head := []string{"policy"}
	for _, q := range Quantities() {
		if compared(q.Key) {
			head = append(head, q.Label+" "+q.Arrow())
		}
	}
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
		return group(strconv.FormatFloat(x, 'f', 0, 64))
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// group puts a comma between thousands of a number of digits.
func group(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// align writes rows with the first column to the left and the others to the right, two blanks apart.
func align(b *strings.Builder, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString("  " + pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
