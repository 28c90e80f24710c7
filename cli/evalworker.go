package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/playjob"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/policy"
)

// identify returns what identifies policies.
func identify(policies []policy.Policy) (all []playjob.Policy) {
	for i := range policies {
		all = append(all, playjob.Policy{Name: policies[i].Name, Digest: policies[i].Digest, Rule: policies[i].Rule})
	}
	return all
}

// jobText completes the job with the suites and with the policies that its names stand for, and returns its text.
// There is an error if the text is too large to send to workers.
func jobText(j *playjob.Job, suites []suite, policies []policy.Policy) ([]byte, error) {
	j.Found = identify(policies)
	var scenarios []*scenario.Scenario
	for _, s := range suites {
		j.Suites = append(j.Suites, playjob.Suite{Scenario: s.Scenario, Digest: s.Digest, Windows: s.windows, Seeds: s.Seeds})
		scenarios = append(scenarios, s.source.Scenario())
	}
	text, err := j.Text(scenarios)
	if err == nil && len(text) > work.MaxPayload/2 {
		err = fmt.Errorf("scenarios and policies take %d bytes, want at most %d to send them to workers", len(text), work.MaxPayload/2)
	}
	return text, err
}

// openEvalJob prepares a worker for the job of an evaluation. There is an error if a scenario has other jobs here than where the
// learner is, for example because a trace differs, or if a policy is another one.
func (a *app) openEvalJob(text []byte) (work.Compute, error) {
	plan, err := a.parsePlan(text)
	if err != nil {
		return nil, err
	}
	player, err := eval.NewPlayer(*plan)
	if err != nil {
		return nil, err
	}
	return player.Play, nil
}

// parsePlan reads the job of an evaluation and returns what to play.
func (a *app) parsePlan(text []byte) (*eval.Plan, error) {
	j, scenarios, err := playjob.Parse(text)
	if err != nil {
		return nil, err
	}
	policies, err := policiesOf(a, j)
	if err != nil {
		return nil, err
	}
	var suites []suite
	for i, s := range scenarios {
		own, err := openSuite(s, j.Split, j.Suites[i].Windows)
		if err != nil {
			return nil, err
		}
		if want := &j.Suites[i]; own.Digest != want.Digest {
			return nil, fmt.Errorf("scenario %s: its jobs have the digest %s here and %s where the learner is: is it the same trace?",
				want.Scenario, own.Digest, want.Digest)
		}
		own.Seeds = j.Suites[i].Seeds
		suites = append(suites, own)
	}
	plan := newPlan(suites, policies)
	if plan.Overlap = j.Overlap; j.NoLogs {
		plan.Keep = func(eval.Case) bool { return false }
	}
	for _, text := range j.Objectives {
		o, err := objectives.Read(strings.NewReader(text))
		if err != nil {
			return nil, err
		}
		plan.Objectives = append(plan.Objectives, o)
	}
	return &plan, nil
}

// policiesOf finds the policies of the job.
func policiesOf(a *app, j *playjob.Job) ([]policy.Policy, error) {
	policies, err := a.findPolicies(j.Policies, j.Baseline)
	if err != nil {
		return nil, err
	}
	found := identify(policies)
	if len(found) != len(j.Found) {
		return nil, fmt.Errorf("the names of %d policies stand for %d here and for %d where the learner is",
			len(j.Policies), len(found), len(j.Found))
	}
	for i, want := range j.Found {
		if found[i] != want {
			return nil, fmt.Errorf("policy %s: it has the digest %q here and %q where the learner is: are the same files at the same "+
				"path?", want.Name, found[i].Digest, want.Digest)
		}
	}
	return policies, nil
}

// newPlan returns a plan that plays policies on suites, and measures how long that takes.
func newPlan(suites []suite, policies []policy.Policy) eval.Plan {
	began := time.Now()
	plan := eval.Plan{Policies: slices.Clone(policies), Clock: func() time.Duration { return time.Since(began) }}
	for _, s := range suites {
		plan.Suites = append(plan.Suites, s.Suite)
	}
	return plan
}
