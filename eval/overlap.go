package eval

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/scenario"
)

// OverlapError reports that a plan evaluates a policy on jobs that it was trained or chosen on.
type OverlapError struct {
	Policy, Scenario, Split string
	Shared                  scenario.Period // a part of a trace that both the windows and the training used
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("policy %s was trained or chosen on jobs of %s of %s (%s)", e.Policy, e.Split, e.Scenario, e.Shared)
}

// Overlaps lists the pairs of a policy and a suite that have jobs in common. It cannot detect overlap for a learned policy that
// does not record what it was trained on. A policy that is fitted on the past of each suite knows nothing of the other suites.
func (p *Plan) Overlaps() []*OverlapError {
	var all []*OverlapError
	for i := range p.Policies {
		var trained []scenario.Period
		for _, s := range p.Policies[i].Training.Seen {
			trained = append(trained, scenario.Period(s))
		}
		for _, s := range p.Suites {
			seen := trained
			if p.Policies[i].Needs.Past() && mustFit(p.Policies[i]) && s.Past != nil {
				seen = slices.Concat(trained, s.Past.periods)
			}
			if shared, overlap := scenario.Overlap(seen, s.Periods); overlap {
				all = append(all, &OverlapError{p.Policies[i].Name, s.Scenario, s.Split, shared})
			}
		}
	}
	return all
}

// Complete returns results without those of incomplete policies. If a policy lacks the result of one of its cases in a scenario,
// Complete removes all its results of that scenario, because they would cover different cases from those of the other policies.
func (p *Plan) Complete(results []Result) []Result {
	type pair struct{ scenario, policy string }
	missing := map[pair]int{}
	for _, c := range p.Cases() {
		missing[pair{c.Scenario, c.Policy}]++
	}
	for i := range results {
		missing[pair{results[i].Scenario, results[i].Policy}]--
	}
	var whole []Result
	for _, r := range results {
		if missing[pair{r.Scenario, r.Policy}] <= 0 {
			whole = append(whole, r)
		}
	}
	return whole
}
