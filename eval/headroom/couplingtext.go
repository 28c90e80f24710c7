package headroom

import (
	"fmt"
	"io"
	"strings"

	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/table"
)

// WriteCoupling writes a line for each report, and the verdicts.
func WriteCoupling(w io.Writer, reports []*CouplingReport) error {
	var b strings.Builder
	rows := [][]string{{
		"scenario", "later jobs", "points", "joint", "", "in turn", "greedy", "coupling %", "", "in turn %", "interaction %", "",
	}}
	for _, r := range reports {
		line := append([]string{r.Scenario, "none to come", fmt.Sprint(r.Points)}, r.Present.cells()...)
		rows = append(rows, append(line, difference(r.Interaction)...))
		rows = append(rows, append([]string{"", "the true ones", ""}, r.Hindsight.cells()...))
		if r.Fresh != nil {
			rows = append(rows, append([]string{"", "others", ""}, r.Fresh.cells()...))
		}
	}
	table.Text(&b, 2, rows)
	fmt.Fprintf(&b, `
joint, in turn, greedy: what the best pair of candidates, the best after the best, and the two best by themselves gain at
a decision, in thousandths of the base's mean JCT. coupling: what greedy lacks of joint, in percent of joint; after it what in
turn lacks. others: chosen in half of the futures, valued in the other half. interaction: the part of what pairs change that
is not the sum of what their candidates change alone. [%g %% interval] over windows.

`, 100*eval.Level)
	for _, r := range reports {
		fmt.Fprintf(&b, "%s: %s\n", r.Scenario, r.Verdict)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Coupling) cells() []string {
	thousandth := func(d eval.Difference) *eval.Difference {
		return &eval.Difference{Mean: 10 * d.Mean, Lo: 10 * d.Lo, Hi: 10 * d.Hi}
	}
	line := difference(thousandth(c.Joint))
	line = append(line, difference(thousandth(c.Sequential))[0], difference(thousandth(c.Greedy))[0])
	line = append(line, difference(c.Lost)...)
	return append(line, difference(c.LostInTurn)[0])
}
