package report

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/stats"
)

// costView is what the page says about one objective: a bar for each policy, stacked by term, and who pays.
type costView struct {
	Objective, Unit string
	Terms           []legendView
	Bars            []barView
	Parts           *table // nil if there is nothing but the whole
}

// legendView is an entry of the legend of the bars.
type legendView struct{ Term, Look string }

// barView is the bar of a policy. Cut says that it is longer than the room for it.
type barView struct {
	Policy   []string
	Mean     string
	Says     string // the bar in words
	Segments []segment
	Cut      bool
}

// segment is the part of a bar that a term costs, in thousandths of the room for bars.
type segment struct {
	From, To   float64
	Look, Says string
}

// costViews returns the views of all objectives of a comparison.
func costViews(c *eval.Comparison, policies []string) (all []costView) {
	means := c.Costs()
	for i, first := range c.Policies[0].Costs {
		v := costView{Objective: first.Objective, Unit: first.Unit}
		for t := range first.Terms {
			v.Terms = append(v.Terms, legendView{first.Terms[t].Of, fmt.Sprintf("p%d", t%8)})
		}
		room := longest(c, i)
		for k := range c.Policies {
			v.Bars = append(v.Bars, bar(&c.Policies[k], i, room, minus(means.Rows[k].Cells[2*i].Text), first.Unit))
		}
		if parts := c.Parts(i); len(parts.Columns) > 0 {
			t := newTable(c, parts, policies)
			v.Parts = &t
		}
		all = append(all, v)
	}
	return all
}

// longest returns the cost that fills the room for bars: the highest, but at most three times the median, so that one policy that
// is far off does not make the others too short to read.
func longest(c *eval.Comparison, i int) float64 {
	var totals []float64
	for k := range c.Policies {
		totals = append(totals, c.Policies[k].Costs[i].Total)
	}
	most := slices.Max(totals)
	if middle := 3 * stats.Quantile(totals, 0.5); middle > 0 {
		most = min(most, middle)
	}
	return most
}

// bar returns the bar of a policy's cost by the i-th objective.
func bar(p *eval.Summary, i int, room float64, mean, unit string) barView {
	c := &p.Costs[i]
	b := barView{Policy: breakable(p.Policy), Mean: mean, Cut: c.Total > room*(1+1e-9)}
	b.Says = fmt.Sprintf("%s: %s %s", p.Policy, mean, unit)
	from := 0.0
	for t, s := range c.Terms {
		if s.Cost <= 0 || room <= 0 {
			continue
		}
		says := fmt.Sprintf("%s %.0f %%", s.Of, 100*s.Cost/c.Total)
		b.Says += ", " + says
		to := min(from+1000*s.Cost/room, 1000)
		if from < 1000 {
			b.Segments = append(b.Segments, segment{from, to, fmt.Sprintf("p%d", t%8), says})
		}
		from = to
	}
	return b
}
