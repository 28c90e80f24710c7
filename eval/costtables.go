package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/table"
)

// costs returns what each case of a policy costs by each objective.
func (g *grid) costs(policy int) (all [][]objectives.Bill) {
	n := len(g.windows) * len(g.seeds)
	for _, r := range g.cells[policy*n : (policy+1)*n] {
		all = append(all, r.Costs)
	}
	return all
}

// Costs returns a table of what the policies cost by each objective, with intervals, and of the paired differences from the
// baseline in percent. It has no columns without objectives.
func (c *Comparison) Costs() Table {
	var t Table
	for _, p := range c.Policies {
		t.Rows = append(t.Rows, TableRow{Policy: p.Policy, Cut: p.Truncated > 0})
	}
	for _, q := range c.costs {
		t.Columns = append(t.Columns,
			Column{Label: q.Label, Unit: q.Unit, Arrow: "↓", About: q.About, Main: true},
			Column{Label: "to " + c.Baseline, Unit: "%", Arrow: "↓", Main: true, starred: true,
				About: "By how much the sum over windows differs from that of " + c.Baseline + "."})
		for k := range c.Policies {
			p := &c.Policies[k]
			m := &p.Metrics[len(Quantities())+q.cost-1]
			mean := Cell{Text: q.show(float64(m.Mean))}
			if len(c.Windows) > 1 {
				mean.Range = fmt.Sprintf("[%s, %s]", q.show(float64(m.Interval.Lo)), q.show(float64(m.Interval.Hi)))
			}
			d := m.Relative.cell()
			if p.Policy == c.Baseline {
				d = Cell{Text: "baseline"}
			}
			t.Rows[k].Cells = append(t.Rows[k].Cells, mean, d)
		}
	}
	if len(c.costs) > 0 && len(c.Policies) > 1 {
		t.Columns = append(t.Columns, wins("cost by "+c.Ranking()))
		for k, p := range c.Policies {
			t.Rows[k].Cells = append(t.Rows[k].Cells, Cell{Text: won(c.Ranked(&p), len(c.Windows))})
		}
	}
	return t
}

// costLegend explains the table of costs.
func (c *Comparison) costLegend() string {
	return fmt.Sprintf("Costs of a window, and differences of their sums, [%g %% interval] over %s, lowest %s first;\n"+
		"* the interval excludes 0, - the baseline costs nothing", 100*c.Level, phrase.Count(len(c.Windows), "window"), c.Ranking())
}

// mostColumns is how many tenants a table of parts shows; the others are one.
const mostColumns = 5

// Parts returns a table of who pays by the i-th objective: what a case costs in the mean by the terms of the objective, by the
// GPUs that jobs ask for, and by tenant or, where jobs have none, by user. The cluster is what no job is charged for. What has
// only one part is left out.
func (c *Comparison) Parts(i int) Table {
	var t Table
	for _, p := range c.Policies {
		t.Rows = append(t.Rows, TableRow{Policy: p.Policy, Cut: p.Truncated > 0})
	}
	column := func(label, unit, about string, of func(*objectives.Bill) float64) {
		t.Columns = append(t.Columns, Column{Label: label, Unit: unit, Arrow: "↓", About: about, Main: true})
		for k := range c.Policies {
			t.Rows[k].Cells = append(t.Rows[k].Cells, Cell{Text: c.costs[i].show(of(&c.Policies[k].Costs[i]))})
		}
	}
	for _, by := range []struct {
		unit string
		list func(*objectives.Bill) []objectives.Share
		most int
	}{
		{"term", func(c *objectives.Bill) []objectives.Share { return c.Terms }, len(c.Policies[0].Costs[i].Terms)},
		{"GPUs", func(c *objectives.Bill) []objectives.Share { return c.BySize }, math.MaxInt},
		{"tenant", func(c *objectives.Bill) []objectives.Share { return c.ByTenant }, mostColumns},
	} {
		names := c.namesOf(i, by.list)
		if len(names) < 2 {
			continue
		}
		shown := names[:min(len(names), by.most)]
		for _, name := range shown {
			column(name, by.unit, "", func(c *objectives.Bill) float64 { return sumOf(by.list(c), name) })
		}
		if len(names) > len(shown) {
			column(objectives.Others, by.unit+"s", "", func(c *objectives.Bill) float64 {
				return sumOf(by.list(c)) - sumOf(by.list(c), shown...)
			})
		}
	}
	shared := func(c *objectives.Bill) float64 { return c.Total - sumOf(c.BySize) }
	if slices.ContainsFunc(c.Policies, func(p Summary) bool { return shared(&p.Costs[i]) > 1e-9*p.Costs[i].Total }) {
		column("cluster", "", "What no job is charged for.", shared)
	}
	return t
}

// namesOf returns the names of parts of the cost by the i-th objective under all policies: sizes and terms in their order, and
// tenants with the most costly under the first policy first, without the others.
func (c *Comparison) namesOf(i int, list func(*objectives.Bill) []objectives.Share) (names []string) {
	for k := range c.Policies {
		for _, s := range list(&c.Policies[k].Costs[i]) {
			if s.Of != objectives.Others {
				names = appendNew(names, s.Of)
			}
		}
	}
	return names
}

// markdownParts appends a table of the costs of terms: a row for each policy, and a column for each term of the objectives that
// have several.
func markdownParts(b *strings.Builder, all []Comparison, names []string) {
	rows := [][]string{{"mean cost by term"}}
	for _, name := range names {
		rows = append(rows, []string{name})
	}
	for i := range all {
		for k, q := range all[i].costs {
			terms := all[i].Policies[0].Costs[k].Terms
			if len(terms) < 2 {
				continue
			}
			for t := range terms {
				head := q.Label + ": " + terms[t].Of
				if len(all) > 1 {
					head = all[i].Scenario + ", " + head
				}
				rows[0] = append(rows[0], head)
				for n, name := range names {
					cell := ""
					if p := all[i].summary(name); p != nil {
						cell = q.show(p.Costs[k].Terms[t].Cost)
					}
					rows[n+1] = append(rows[n+1], cell)
				}
			}
		}
	}
	if len(rows[0]) > 1 {
		b.WriteString("\n")
		table.Markdown(b, rows)
	}
}

// summary returns what describes a policy, nil if it is not compared.
func (c *Comparison) summary(policy string) *Summary {
	if i := slices.IndexFunc(c.Policies, func(p Summary) bool { return p.Policy == policy }); i >= 0 {
		return &c.Policies[i]
	}
	return nil
}

// sumOf returns what the shares of these names cost, or of all without names.
func sumOf(shares []objectives.Share, names ...string) (sum float64) {
	for _, s := range shares {
		if len(names) == 0 || slices.Contains(names, s.Of) {
			sum += s.Cost
		}
	}
	return sum
}
