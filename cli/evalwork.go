package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train/recipe"
)

// evalJob is what a worker must know to play a case of an evaluation. The scenarios follow it in the text of a job.
type evalJob struct {
	Split    string      `yaml:"split"`
	Suites   []jobSuite  `yaml:"suites"`
	Policies []string    `yaml:"policies"` // as flags name them
	Baseline string      `yaml:"baseline,omitempty"`
	Found    []jobPolicy `yaml:"found"` // what these names stand for
	Overlap  bool        `yaml:"overlap,omitempty"`
	Search   *jobSearch  `yaml:"search,omitempty"` // for headroom, where names stand for policies one by one
}

// jobSuite identifies the episodes of a scenario.
type jobSuite struct {
	Scenario string   `yaml:"scenario"`
	Digest   string   `yaml:"sha256"`
	Windows  []int    `yaml:"windows,flow,omitempty"` // none for all
	Seeds    []uint64 `yaml:"seeds,flow"`
}

// jobPolicy identifies a policy that was found.
type jobPolicy struct {
	Name   string `yaml:"name"`
	Digest string `yaml:"sha256,omitempty"`
	Rule   string `yaml:"rule,omitempty"`
}

// identify returns what identifies policies.
func identify(policies []policy.Policy) (all []jobPolicy) {
	for i := range policies {
		all = append(all, jobPolicy{policies[i].Name, policies[i].Digest, policies[i].Rule})
	}
	return all
}

// text returns the text of the job for suites and the policies that its names stand for.
func (j *evalJob) text(suites []suite, policies []policy.Policy) ([]byte, error) {
	j.Found = identify(policies)
	var scenarios []*scenario.Scenario
	for _, s := range suites {
		j.Suites = append(j.Suites, jobSuite{s.Scenario, s.Digest, s.windows, s.Seeds})
		scenarios = append(scenarios, s.source.Scenario())
	}
	text, err := recipe.Text(j, scenarios)
	if err == nil && len(text) > work.MaxPayload/2 {
		err = fmt.Errorf("scenarios and policies take %d bytes, want at most %d to send them to workers", len(text), work.MaxPayload/2)
	}
	return text, err
}

// parseEvalJob reads the job of an evaluation.
func parseEvalJob(text []byte) (*evalJob, []*scenario.Scenario, error) {
	j := &evalJob{}
	scenarios, err := recipe.Parse("job", text, j, true, func() (int, error) {
		if len(j.Suites) == 0 || len(j.Policies) == 0 {
			return 0, fmt.Errorf("%d scenarios and %d policies: want at least one of each", len(j.Suites), len(j.Policies))
		}
		return len(j.Suites), nil
	})
	return j, scenarios, err
}

// openEvalJob prepares a worker for the job of an evaluation. There is an error if a scenario has other jobs here than where the
// learner is, for example because a trace differs, or if a policy is another one.
func (a *app) openEvalJob(text []byte) (work.Compute, error) {
	j, plan, err := a.parsePlan(text)
	if err != nil {
		return nil, err
	}
	if plan.Overlap = j.Overlap; j.Search != nil {
		plan.Keep = func(eval.Case) bool { return false } // as headroom.Measure
	}
	player, err := eval.NewPlayer(*plan)
	if err != nil {
		return nil, err
	}
	return player.Play, nil
}

// parsePlan reads the job of an evaluation and returns what to play.
func (a *app) parsePlan(text []byte) (*evalJob, *eval.Plan, error) {
	j, scenarios, err := parseEvalJob(text)
	if err != nil {
		return nil, nil, err
	}
	policies, err := j.find(a)
	if err != nil {
		return nil, nil, err
	}
	var suites []suite
	for i, s := range scenarios {
		own, err := openSuite(s, j.Split, j.Suites[i].Windows)
		if err != nil {
			return nil, nil, err
		}
		if want := &j.Suites[i]; own.Digest != want.Digest {
			return nil, nil, fmt.Errorf("scenario %s: its jobs have the digest %s here and %s where the learner is: is it the same trace?",
				want.Scenario, own.Digest, want.Digest)
		}
		own.Seeds = j.Suites[i].Seeds
		suites = append(suites, own)
	}
	plan := newPlan(suites, policies)
	return j, &plan, nil
}

// find finds the policies of the job.
func (j *evalJob) find(a *app) (policies []policy.Policy, err error) {
	if j.Search == nil {
		policies, err = a.findPolicies(j.Policies, j.Baseline)
	} else {
		policies, err = j.Search.find(a, j.Policies)
	}
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
