package cli

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/eval/headroom"
	"github.com/clustergym/clustergym/internal/work"
)

// openSearchJob prepares a worker for the searches of a headroom. It returns errors as openEvalJob does.
func (a *app) openSearchJob(text []byte) (work.Compute, error) {
	j, plan, err := a.parsePlan(text)
	if err != nil {
		return nil, err
	}
	if j.Search == nil || len(j.Suites) != 1 || len(j.Search.Groups) != len(plan.Policies) ||
		min(j.Search.Effort, j.Search.Wider) < 0 || j.Search.Wider > widest {
		return nil, fmt.Errorf("search %+v of %d scenarios with %d policies, want one scenario, a group for each policy, an effort, "+
			"and at most %d times as many candidates", j.Search, len(j.Suites), len(plan.Policies), widest)
	}
	p := headroom.Plan{Suite: plan.Suites[0], Effort: j.Search.Effort, Wider: j.Search.Wider, Overlap: j.Overlap}
	for i, group := range j.Search.Groups {
		if slices.Contains(headroom.Reserved(), plan.Policies[i].Name) {
			return nil, fmt.Errorf("policy %s has a name of a row that is not a policy", plan.Policies[i].Name)
		}
		p.Rivals = append(p.Rivals, headroom.Rival{Policy: plan.Policies[i], Group: headroom.Group(group)})
	}
	return headroom.NewSearcher(p).Search, nil
}
