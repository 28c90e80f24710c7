package eval

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/policy"
)

// EstimatesError reports that policies need an estimate of every job's duration, and that scenarios tell none.
type EstimatesError struct {
	Policies, Scenarios []string
	Instead             []string // policies to name in place of these, as eval takes them; none for a prior
}

func (e *EstimatesError) Error() string {
	take := ""
	if len(e.Instead) > 0 {
		take = "take " + strings.Join(e.Instead, ", ") + " to learn them from the jobs that end, or "
	}
	return fmt.Sprintf("estimates of run times are needed by %s, and not told by %s: %sleave out one or the other",
		strings.Join(e.Policies, ", "), strings.Join(e.Scenarios, ", "), take)
}

// CheckEstimates returns an EstimatesError if some of the policies cannot play some of the suites, because they need estimates.
func CheckEstimates(suites []Suite, policies []policy.Policy) error {
	e := &EstimatesError{}
	for i := range suites {
		if suites[i].Unestimated {
			e.Scenarios = append(e.Scenarios, suites[i].Scenario)
		}
	}
	for i := range policies {
		if p := &policies[i]; len(e.Scenarios) > 0 && p.Needs.Estimates {
			e.Policies = append(e.Policies, p.Name)
			if instead := predicting(p); instead != "" {
				e.Instead = append(e.Instead, instead)
			}
		}
	}
	if len(e.Policies) == 0 {
		return nil
	}
	return e
}

// predicting returns the name of the policy that differs from the given one in that it predicts how long jobs run; "" for a
// prior, which has no name of its own.
func predicting(p *policy.Policy) string {
	if p.UsualPrior() || p.Spec.Base == policy.Prior {
		return ""
	}
	inner, _ := p.Spec.CutKnow()
	return inner.Rule() + baselines.KnowSuffix
}
