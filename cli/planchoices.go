package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/internal/phrase"
)

// printChoices prints what a learned team weighed where a candidate was about the job.
func (p *jobPlan) printChoices(a *app) error {
	if p.of == 0 {
		return nil
	}
	a.Printf("\nthe team made %s, %d of them with candidates about %s\n", phrase.Count(p.of, "choice"), len(p.Choices), p.Job)
	for i := range p.Choices {
		if err := p.printChoice(a, &p.Choices[i]); err != nil {
			return err
		}
	}
	if len(p.Choices) > 0 {
		a.Printf("\nA bid contains the payoff, which comes from edges of the coordination graph. The total is the bid less the\n" +
			"margin, and > has the highest. Servers that take no part in a candidate are masked: they cannot name it.\n")
	}
	return nil
}

func (p *jobPlan) printChoice(a *app, c *explain.Choice) error {
	a.Printf("\nchoice %d of %d\n", c.Number, p.of)
	rows := [][]string{{"", "bid", "payoff", "margin", "total", "servers", "what it does"}}
	masked := 0
	var edges []string
	for i := range c.Candidates {
		x := &c.Candidates[i]
		if x.Masked {
			masked++
			continue
		}
		mark, does := " ", x.Does
		if x.Taken {
			mark = ">"
		}
		if x.Prior {
			does = "the prior's choice: " + does
		}
		rows = append(rows, []string{
			fmt.Sprintf("%s%d", mark, x.Number), fmt.Sprintf("%.3f", x.Bid), fmt.Sprintf("%.3f", x.Payoff), fmt.Sprintf("%.3g", x.Margin),
			fmt.Sprintf("%.3f", x.Total), phrase.Few(x.Servers), does,
		})
		if x.Taken || slices.Contains(x.Jobs, p.Job) {
			edges = append(edges, edgesOf(x)...)
		}
	}
	if err := a.PrintRows(rows); err != nil {
		return err
	}
	if masked > 0 {
		a.Printf("masked: %s that were carried out already, or no longer fit\n", phrase.Count(masked, "candidate"))
	}
	if c.LeftToPrior {
		a.Printf("left to the prior: the state is out of distribution, beyond what training met\n")
	}
	for _, line := range edges {
		a.Printf("%s\n", line)
	}
	if servers := c.Attention[p.Job]; len(servers) > 0 {
		var parts []string
		for _, s := range servers {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", s.Server, 100*s.Weight))
		}
		a.Printf("%s attends to %s\n", p.Job, strings.Join(parts, ", "))
	}
	return nil
}

// edgesOf returns a line about the edges of the coordination graph that add most to a candidate's bid; none without edges.
func edgesOf(c *explain.Candidate) []string {
	if len(c.Edges) == 0 {
		return nil
	}
	var parts []string
	for _, e := range c.Edges {
		pair := e.From + " with " + e.To
		if e.From == e.To {
			pair = e.From + " alone"
		}
		parts = append(parts, fmt.Sprintf("%s %+.4f", pair, e.Payoff))
	}
	return []string{fmt.Sprintf("edges of %d: %s", c.Number, strings.Join(parts, ", "))}
}
