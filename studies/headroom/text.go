package headroom

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/table"
)

// WriteText writes the report as aligned text.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: %s x %s, search effort %d\n\n", r.Scenario, r.Split, phrase.Count(r.Windows, "window"),
		phrase.Count(r.Seeds, "seed"), r.Effort)
	rows := [][]string{{"", "policy", r.By + " " + r.Unit, "vs fixed %", "", "vs menu %", "", "makespan s", "vs fixed %", ""}}
	for i := range r.Rows {
		row := &r.Rows[i]
		line := []string{string(row.Group), row.name(), seconds(row.MeanJCT)}
		line = append(line, difference(row.VsFixed)...)
		line = append(line, difference(row.VsMenu)...)
		line = append(line, seconds(row.Makespan))
		rows = append(rows, append(line, difference(row.MakespanVsFixed)...))
	}
	table.Text(&b, 2, rows)
	fmt.Fprintf(&b, "\n[%g %% interval] over windows. A group's best is the one with the lowest %s here.\n", 100*eval.Level, r.By)
	for _, g := range deployable {
		if text := r.others(g); text != "" {
			fmt.Fprintf(&b, "%s: %s\n", g, text)
		}
	}
	b.WriteString("\n")
	if r.WaitUnder != "" {
		fmt.Fprintf(&b, "Under %s jobs wait for %s of their completion times before they start.\n", r.WaitUnder,
			percent(100*r.WaitShare))
	}
	if r.Collected != nil {
		fmt.Fprintf(&b, "Of what the clairvoyant search gains on the best fixed demand, the best rival collects %s.\n",
			percent(*r.Collected))
	}
	b.WriteString(r.worths())
	if m := r.Wider; m != nil {
		fmt.Fprintf(&b, "Drawing from %d times as many candidates as %d, the search ends with a %s that differs by %.2f %%",
			m.Times, m.Candidates, r.By, m.Difference.Mean)
		if d := m.Difference; !math.IsInf(float64(d.Lo), 0) {
			fmt.Fprintf(&b, " [%.2f, %.2f]", d.Lo, d.Hi)
		}
		b.WriteString(".\n")
	}
	for _, n := range r.Notes {
		b.WriteString(n + "\n")
	}
	if r.Windows < 2 {
		b.WriteString("One window bounds no difference: run more windows for intervals.\n")
	}
	b.WriteString("\n" + r.Verdict + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// name returns the text beside the group: the policy's name or an explanation.
func (r *Row) name() string {
	switch r.Group {
	case hindsight:
		return "best rival of each window"
	case clairvoyant:
		return "search, not deployable"
	case wide:
		return "likewise, more candidates"
	case bound:
		return "no policy goes below"
	}
	return r.Policy
}

// others lists the rivals of a group, best first, or returns "" if there are fewer than two.
func (r *Report) others(g Group) string {
	var some []Tried
	for _, t := range r.Rivals {
		if t.Group == g {
			some = append(some, t)
		}
	}
	if len(some) < 2 {
		return ""
	}
	slices.SortStableFunc(some, func(a, b Tried) int {
		if a.MeanJCT < b.MeanJCT {
			return -1
		}
		return 1
	})
	var texts []string
	for _, t := range some {
		texts = append(texts, t.Policy+" "+seconds(t.MeanJCT))
	}
	return strings.Join(texts, ", ")
}

// WriteMap writes one row for each report, which shows how much can be gained and by whom.
func WriteMap(w io.Writer, reports []*Report) error {
	var b strings.Builder
	rows := [][]string{{
		"scenario", "learning", "windows", "wait %", "fixed s", "menu %", "prior %", "look-ahead %", "clairvoyant %", "bound %",
		"searched", "", "ceiling", "wider %", "",
	}}
	for _, r := range reports {
		line := []string{r.Scenario, string(r.Pays), fmt.Sprint(r.Windows), number(100 * float64(r.WaitShare))}
		for _, g := range []Group{Fixed, Menu, Prior, LookAhead, clairvoyant, bound} {
			i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Group == g })
			switch {
			case i < 0:
				line = append(line, "-")
			case g == Fixed:
				line = append(line, seconds(r.Rows[i].MeanJCT))
			case r.Rows[i].VsFixed == nil:
				line = append(line, "-")
			default:
				line = append(line, number(float64(r.Rows[i].VsFixed.Mean)))
			}
		}
		line = append(line, difference(&r.Searched)...)
		line = append(line, number(float64(r.Ceiling.Mean)))
		if r.Wider != nil {
			line = append(line, difference(&r.Wider.Difference)...)
		} else {
			line = append(line, "-", "")
		}
		rows = append(rows, line)
	}
	table.Text(&b, 2, rows)
	b.WriteString("\nmenu to bound: mean JCT relative to the best fixed-demand rival. searched and ceiling: what the clairvoyant\n" +
		"search found, and what no policy can exceed, in percent of the best deployable rival. wider: mean JCT of a\n" +
		"search that draws from more candidates, relative to that of the search.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func seconds(x eval.Number) string {
	if x < 1000 {
		return fmt.Sprintf("%.4g", float64(x))
	}
	return table.Thousands(fmt.Sprintf("%.0f", float64(x)))
}

func number(x float64) string {
	text := fmt.Sprintf("%.1f", x)
	if text == "-0.0" {
		text = "0.0"
	}
	return text
}

func percent(x eval.Number) string { return number(float64(x)) + " %" }

// difference returns a mean and its interval, as two table cells.
func difference(d *eval.Difference) []string {
	switch {
	case d == nil:
		return []string{"-", ""}
	case math.IsInf(float64(d.Lo), 0) || math.IsNaN(float64(d.Lo)):
		return []string{number(float64(d.Mean)), ""}
	}
	return []string{number(float64(d.Mean)), "[" + number(float64(d.Lo)) + ", " + number(float64(d.Hi)) + "]"}
}
