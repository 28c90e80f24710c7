package cli

import (
	"errors"
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
	Windows  int         `yaml:"windows,omitempty"`
	Seeds    int         `yaml:"seeds,omitempty"`
	Policies []string    `yaml:"policies"`
	Baseline string      `yaml:"baseline"`
	Overlap  bool        `yaml:"overlap,omitempty"`
	Suites   []jobSuite  `yaml:"suites"`
	Found    []jobPolicy `yaml:"found"`
}

// jobSuite identifies the episodes of a scenario.
type jobSuite struct {
	Scenario string `yaml:"scenario"`
	Digest   string `yaml:"sha256"`
}

// jobPolicy identifies a policy that was found.
type jobPolicy struct {
	Name   string `yaml:"name"`
	Digest string `yaml:"sha256,omitempty"`
	Rule   string `yaml:"rule,omitempty"`
}

// identify returns what identifies the suites and policies of a plan.
func identify(plan *eval.Plan) (suites []jobSuite, found []jobPolicy) {
	for i := range plan.Suites {
		suites = append(suites, jobSuite{plan.Suites[i].Scenario, plan.Suites[i].Digest})
	}
	for i := range plan.Policies {
		p := &plan.Policies[i]
		found = append(found, jobPolicy{p.Name, p.Digest, p.Rule})
	}
	return suites, found
}

// job returns the job of an evaluation.
func (o *evalOptions) job(suites []suite, plan *eval.Plan) ([]byte, error) {
	j := evalJob{
		Split: o.split, Windows: o.windows, Seeds: o.seeds, Policies: o.policies, Baseline: o.baseline, Overlap: o.overlap,
	}
	j.Suites, j.Found = identify(plan)
	var scenarios []*scenario.Scenario
	for _, s := range suites {
		scenarios = append(scenarios, s.source.Scenario())
	}
	text, err := recipe.Text(&j, scenarios)
	if err == nil && len(text) > work.MaxPayload/2 {
		err = fmt.Errorf("scenarios and policies take %d bytes, want at most %d to send them to workers", len(text), work.MaxPayload/2)
	}
	return text, err
}

// parseEvalJob reads the job of an evaluation.
func parseEvalJob(text []byte) (*evalJob, []*scenario.Scenario, error) {
	j := &evalJob{}
	scenarios, err := recipe.Parse("job", text, j, true, func() (int, error) {
		o := evalOptions{split: j.Split, policies: j.Policies, scenarios: make([]string, len(j.Suites)), seeds: j.Seeds, windows: j.Windows}
		return len(j.Suites), o.validate()
	})
	return j, scenarios, err
}

// openEvalJob prepares a worker for the job of an evaluation. There is an error if a scenario has other jobs here than where the
// learner is, for example because a trace differs, or if a policy is another one.
func (a *app) openEvalJob(text []byte) (work.Compute, error) {
	compute, err := a.newPlayer(text)
	if err != nil {
		return nil, fmt.Errorf("open job: %w", err)
	}
	return compute, nil
}

func (a *app) newPlayer(text []byte) (work.Compute, error) {
	j, scenarios, err := parseEvalJob(text)
	if err != nil {
		return nil, err
	}
	o := evalOptions{split: j.Split, windows: j.Windows, seeds: j.Seeds}
	policies, err := a.findPolicies(j.Policies, j.Baseline)
	if err != nil {
		return nil, err
	}
	suites, err := o.openAll(scenarios)
	if err != nil {
		return nil, err
	}
	plan := newPlan(suites, policies)
	plan.Overlap = j.Overlap
	if err := j.same(&plan); err != nil {
		return nil, err
	}
	player, err := eval.NewPlayer(plan)
	if err != nil {
		return nil, err
	}
	return player.Play, nil
}

// same returns an error unless a plan has the suites and the policies of the job.
func (j *evalJob) same(plan *eval.Plan) error {
	suites, found := identify(plan)
	if len(suites) != len(j.Suites) || len(found) != len(j.Found) {
		return errors.New("the job lists other numbers of scenarios and policies than it describes")
	}
	for i, want := range j.Suites {
		if suites[i] != want {
			return fmt.Errorf("scenario %s: its jobs have the digest %s here and %s where the learner is: is it the same trace?",
				want.Scenario, suites[i].Digest, want.Digest)
		}
	}
	for i, want := range j.Found {
		if found[i] != want {
			return fmt.Errorf("policy %s: it has the digest %q here and %q where the learner is: are the same files at the same path?",
				want.Name, found[i].Digest, want.Digest)
		}
	}
	return nil
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
