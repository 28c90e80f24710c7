package cli

import (
	"errors"
	"slices"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train/recipe"
)

// finder returns a finder that also finds policies in the folders of runs. It warns of runs whose newest checkpoint is damaged.
func (a *app) finder() *policy.Finder { return &policy.Finder{Run: runReader(a.Warn), Seen: seenBy} }

// seenBy returns the parts of traces on which the network in a folder was fitted, nil if the folder has no recipe.
func seenBy(dir string) ([]checkpoints.Period, error) {
	var r struct {
		Workloads []recipe.Workload `yaml:"workloads"`
	}
	_, err := recipe.Read(dir, &r, false, func() (int, error) { return 0, nil })
	if errors.Is(err, checkpoints.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return recipe.Seen(r.Workloads), nil
}

// fitter returns a finder that also finds policies that must be fitted on the training split of a scenario, for commands that do
// so.
func (a *app) fitter() *policy.Finder {
	f := a.finder()
	f.Fits = true
	return f
}

// verifier returns a finder that accepts only policies signed with the key in a file. If the path is "", it accepts all policies.
func (a *app) verifier(path string) (*policy.Finder, error) {
	f := a.finder()
	if path == "" {
		return f, nil
	}
	var err error
	f.Key, err = checkpoints.ReadVerifyKey(path)
	return f, err
}

// runReader returns a function for policy.Finder that returns how to read the policy of a run, or nil if dir is not a run's
// folder.
func runReader(warn func(error)) func(dir string) func() (*agents.Policy, checkpoints.Provenance, error) {
	return func(dir string) func() (*agents.Policy, checkpoints.Provenance, error) {
		if !isRun(dir) {
			return nil
		}
		return func() (*agents.Policy, checkpoints.Provenance, error) { return loadRun(dir, warned(dir, warn)) }
	}
}

// findPolicy reads a policy given as "[name=]policy", as policy.Finder does.
func (a *app) findPolicy(arg string) (*policy.Policy, error) { return a.finder().Load(arg) }

// findPolicies reads a list of policies for eval, which fits those that need it. In the list, the name prior stands for the prior
// of the first learned policy. findPolicies adds the baseline if the list does not contain it.
func (a *app) findPolicies(args []string, baseline string) ([]policy.Policy, error) {
	from := a.fitter()
	var all []policy.Policy
	var own *policy.Policy // the prior of the first learned policy
	for _, arg := range args {
		p, err := from.Load(arg)
		if err != nil {
			return nil, err
		}
		if own == nil {
			own = p.Prior
		}
		all = append(all, *p)
	}
	named := func(p policy.Policy) bool { return p.Name == baseline }
	if baseline != "" && !slices.ContainsFunc(all, named) {
		p, err := from.Load(baseline)
		if err != nil {
			return nil, err
		}
		p.Name = baseline
		if own == nil {
			own = p.Prior
		}
		all = append(all, *p)
	}
	for i := range all {
		for _, other := range all[:i] {
			if other.Name == all[i].Name {
				return nil, cmdline.Usage("two policies have the name %q: give one another, with name=%s", other.Name, args[i])
			}
		}
		if all[i].Name == policy.Prior && all[i].Learned == nil && own != nil {
			all[i] = *own
		}
	}
	return all, nil
}
