package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/table"
)

// costs returns what each case of a policy costs by each objective.
func (g *grid) costs(policy int) (all [][]Cost) {
	n := len(g.windows) * len(g.seeds)
	for _, r := range g.cells[policy*n : (policy+1)*n] {
		all = append(all, r.Costs)
	}
	return all
}

// meanCosts returns the means over cases of what they cost by each objective, and of the parts.
func meanCosts(cases [][]Cost) []Cost {
	var means []Cost
	for i, first := range cases[0] {
		mean := Cost{Objective: first.Objective, Unit: first.Unit}
		tenants := map[string]*Share{}
		for _, costs := range cases {
			c, n := &costs[i], len(cases)
			mean.Total += c.Total / float64(n)
			mean.Terms = addShares(mean.Terms, c.Terms, n)
			mean.BySize = addShares(mean.BySize, c.BySize, n)
			mean.ByTenant = addShares(mean.ByTenant, c.ByTenant, n)
		}
		slices.SortFunc(mean.BySize, func(a, b Share) int { return cmp.Compare(sizeIndex(a.Of), sizeIndex(b.Of)) })
		for k := range mean.ByTenant {
			tenants[mean.ByTenant[k].Of] = &mean.ByTenant[k]
		}
		mean.ByTenant = mostOf(tenants)
		means = append(means, mean)
	}
	return means
}

// addShares adds what one of so many cases costs to means.
func addShares(means, of []Share, cases int) []Share {
	for _, s := range of {
		i := slices.IndexFunc(means, func(m Share) bool { return m.Of == s.Of })
		if i < 0 {
			i, means = len(means), append(means, Share{Of: s.Of})
		}
		means[i].Jobs += s.Jobs
		means[i].Cost += s.Cost / float64(cases)
	}
	return means
}

func sizeIndex(name string) int {
	return slices.IndexFunc(sizes, func(s size) bool { return s.name == name })
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
	column := func(label, unit, about string, of func(*Cost) float64) {
		t.Columns = append(t.Columns, Column{Label: label, Unit: unit, Arrow: "↓", About: about, Main: true})
		for k := range c.Policies {
			t.Rows[k].Cells = append(t.Rows[k].Cells, Cell{Text: c.costs[i].show(of(&c.Policies[k].Costs[i]))})
		}
	}
	for _, by := range []struct {
		unit string
		list func(*Cost) []Share
		most int
	}{
		{"term", func(c *Cost) []Share { return c.Terms }, len(c.Policies[0].Costs[i].Terms)},
		{"GPUs", func(c *Cost) []Share { return c.BySize }, len(sizes)},
		{"tenant", func(c *Cost) []Share { return c.ByTenant }, mostColumns},
	} {
		names := c.namesOf(i, by.list)
		if len(names) < 2 {
			continue
		}
		shown := names[:min(len(names), by.most)]
		for _, name := range shown {
			column(name, by.unit, "", func(c *Cost) float64 { return sumOf(by.list(c), name) })
		}
		if len(names) > len(shown) {
			column(others, by.unit+"s", "", func(c *Cost) float64 { return sumOf(by.list(c)) - sumOf(by.list(c), shown...) })
		}
	}
	shared := func(c *Cost) float64 { return c.Total - sumOf(c.BySize) }
	if slices.ContainsFunc(c.Policies, func(p Summary) bool { return shared(&p.Costs[i]) > 1e-9*p.Costs[i].Total }) {
		column("cluster", "", "What no job is charged for.", shared)
	}
	return t
}

// namesOf returns the names of parts of the cost by the i-th objective under all policies: sizes and terms in their order, and
// tenants with the most costly under the first policy first, without the others.
func (c *Comparison) namesOf(i int, list func(*Cost) []Share) (names []string) {
	for k := range c.Policies {
		for _, s := range list(&c.Policies[k].Costs[i]) {
			if s.Of != others {
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
func sumOf(shares []Share, names ...string) (sum float64) {
	for _, s := range shares {
		if len(names) == 0 || slices.Contains(names, s.Of) {
			sum += s.Cost
		}
	}
	return sum
}
