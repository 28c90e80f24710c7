package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/table"
)

// Text returns the ranking and how each policy did on each task as text.
func (r *Ranking) Text() string {
	var b strings.Builder
	table.Text(&b, 2, r.standings(""))
	b.WriteString("\n")
	table.Text(&b, 1, r.ratios())
	b.WriteString("\n" + r.legend())
	return b.String()
}

// Markdown returns the ranking and how each policy did on each task as Markdown.
func (r *Ranking) Markdown() string {
	var b strings.Builder
	table.Markdown(&b, r.standings("`"))
	b.WriteString("\n")
	table.Markdown(&b, r.ratios())
	return b.String()
}

// standings returns the rows of the main table. The parameter quote stands around names of policies.
func (r *Ranking) standings(quote string) [][]string {
	rows := [][]string{{"rank", "policy", "cost", "95 %"}}
	for i := range r.Rows {
		s := &r.Rows[i]
		rank := "-"
		if s.Rank > 0 {
			rank = strconv.Itoa(s.Rank)
		}
		if s.Tie {
			rank += "="
		}
		name := quote + s.Policy + quote
		if s.Cut {
			name += " †"
		}
		if s.Unranked != "" {
			name += " (" + s.Unranked + ")"
		}
		rows = append(rows, append([]string{rank, name}, s.Score.cells()...))
	}
	return rows
}

func (s *Score) cells() []string {
	if s == nil {
		return []string{"", ""}
	}
	return []string{ratio(s.Ratio), fmt.Sprintf("[%s, %s]", ratio(s.Lo), ratio(s.Hi))}
}

// ratios returns a table with a row for each policy and a column for each task, which has its number in the suite.
func (r *Ranking) ratios() [][]string {
	rows := [][]string{append([]string{"policy"}, r.numbers()...)}
	for i := range r.Rows {
		row := []string{r.Rows[i].Policy}
		for _, x := range r.Rows[i].Ratios {
			cell := ""
			if x > 0 {
				cell = ratio(x)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// numbers returns the numbers of the tasks in the suite, from 1.
func (r *Ranking) numbers() (all []string) {
	for _, name := range r.Tasks {
		for i, t := range Tasks() {
			if t.Name() == name {
				all = append(all, strconv.Itoa(i+1))
			}
		}
	}
	return all
}

func ratio(x float64) string {
	switch {
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x < 0.1:
		return strconv.FormatFloat(x, 'f', 3, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

func (r *Ranking) legend() string {
	var b strings.Builder
	fmt.Fprintf(&b, `%s, %s of %d. cost: by the objective of the task, divided by that of %s in the same windows,
geometric mean over tasks; lower is better. A rank is 1 + the number of policies that are clearly better; =: a tie.
`, Suite, phrase.Count(len(r.Tasks), "task"), len(Tasks()), Reference)
	if slices.ContainsFunc(r.Rows, func(s Standing) bool { return s.Cut }) {
		b.WriteString("†: some windows ended before all their jobs did, which may cost too little.\n")
	}
	for i, n := range r.numbers() {
		fmt.Fprintf(&b, "%s: %s\n", n, r.Tasks[i])
	}
	return b.String()
}
