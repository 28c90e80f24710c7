package cli

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/table"
	"github.com/clustergym/clustergym/train"
)

// savedText shows what the team saved on validation windows as training went on, one line for each validation. The policy of a
// run has the weights of its best validation, so the lines may fall again. It returns "" if there are no validations.
func savedText(metrics []train.Metrics) string {
	var b strings.Builder
	for _, m := range metrics {
		if m.Validation == nil {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("What the team saves of its prior's mean JCT on validation windows:\n\nupdate  saved, %\n")
			b.WriteString("     0       0.0\n") // an untrained team decides as its prior
		}
		saved := 100 * (1 - *m.Validation)
		bar := strings.Repeat("#", min(max(int(2*saved), 0), 60))
		b.WriteString(strings.TrimRight(fmt.Sprintf("%6d  %8.1f  %s", m.Update, saved, bar), " ") + "\n")
	}
	return b.String()
}

// verdictsText shows how the mean JCT of each policy compares with that of the baseline: lower, higher, or a tie where the
// interval includes 0. The parameter told contains the lines of scenario.DescribeTold.
func verdictsText(c *eval.Comparison, told []string) string {
	means, rows := c.Means(), [][]string{{"policy", "", "mean JCT s", "against " + c.Baseline + ", %", ""}}
	differences := map[string]eval.Cell{}
	for _, r := range c.Differences().Rows {
		differences[r.Policy] = r.Cells[0]
	}
	for _, r := range means.Rows {
		row := []string{r.Policy, "", r.Cells[0].Text, "", ""}
		if cell, ok := differences[r.Policy]; ok {
			row[1], row[3], row[4] = verdictOf(cell), cell.Text, cell.Range
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Mean JCT on %s of %s that no policy was trained on; tie: the %g %% interval includes 0.\n",
		phrase.Count(len(c.Windows), "window"), c.Scenario, 100*c.Level)
	fmt.Fprintf(&b, "What schedulers are told: %s.\n\n", strings.Join(told, "; "))
	table.Text(&b, 2, rows)
	return b.String()
}

// asGoodText names the rules that are at least as good as the team, by the mean difference from the same baseline. It returns
// "" if there are none.
func asGoodText(rows []eval.TableRow, team string) string {
	means := map[string]eval.Number{}
	for i := range rows {
		if d := rows[i].Cells[0].Difference; d != nil {
			means[rows[i].Policy] = d.Mean
		}
	}
	var names []string
	for i := range rows {
		mean, known := means[rows[i].Policy]
		if own, trained := means[team]; known && trained && rows[i].Policy != team && mean <= own {
			names = append(names, rows[i].Policy)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Rules, which are not trained, that do as well here as %s, or better: %s. "+
		"docs/learned.md says where learning pays.\n", team, strings.Join(names, ", "))
}

// verdictOf says how a policy compares with the baseline, by its difference in a metric that is better if lower.
func verdictOf(c eval.Cell) string {
	d := c.Difference
	switch {
	case d == nil: // the baseline has a value of 0 in some window
		return "unknown"
	case !d.Separable():
		return "tie"
	case d.Mean < 0:
		return "lower"
	}
	return "higher"
}
