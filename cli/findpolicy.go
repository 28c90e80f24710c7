package cli

import (
	"slices"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
)

// finder returns a finder that also finds policies in the folders of runs. It warns of runs whose newest checkpoint is damaged.
func (a *app) finder() *policy.Finder {
	return &policy.Finder{Table: a.table(), Run: a.runReader(a.Warn)}
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
func (a *app) runReader(warn func(error)) func(dir string) func() (*agents.Policy, checkpoints.Provenance, error) {
	return func(dir string) func() (*agents.Policy, checkpoints.Provenance, error) {
		if !flags.IsRun(dir) {
			return nil
		}
		return func() (*agents.Policy, checkpoints.Provenance, error) { return a.loadRun(dir, warned(dir, warn)) }
	}
}

// findPolicy reads a policy given as "[name=]policy", as policy.Finder does.
func (a *app) findPolicy(arg string) (*policy.Policy, error) { return a.finder().Load(arg) }

// findPolicies reads a list of policies for eval, which fits those that need it. In the list, the name prior stands for the prior
// of the first learned policy. findPolicies adds the baseline if the list does not contain it. It refuses two policies of one
// name, and a list in which another policy has the baseline's name.
func (a *app) findPolicies(args []string, baseline string) ([]policy.Policy, error) {
	from := a.fitter()
	all, err := loadAll(from.Load, args)
	if err != nil {
		return nil, err
	}
	if err := distinct(all, args); err != nil {
		return nil, err
	}
	if baseline != "" {
		p, err := from.Load(baseline)
		k := slices.IndexFunc(all, func(p policy.Policy) bool { return p.Name == baseline })
		switch {
		case k < 0 && err != nil:
			return nil, err
		case k < 0:
			p.Name = baseline
			all = append(all, *p)
		case err == nil && !p.Same(&all[k]): // after an error, the name is only that of a policy in the list
			return nil, cmdline.Usage("--baseline %s: policy %s of the list has that name, too, and is another one: give it another "+
				"name, with name=%s", baseline, args[k], args[k])
		}
	}
	if k := slices.IndexFunc(all, func(p policy.Policy) bool { return p.Prior != nil }); k >= 0 {
		for i := range all {
			if all[i].UsualPrior() {
				name := all[i].Name
				all[i] = *all[k].Prior
				all[i].Name = name
			}
		}
	}
	return all, nil
}

// loadAll reads a list of policies.
func loadAll(load func(string) (*policy.Policy, error), args []string) (all []policy.Policy, err error) {
	for _, arg := range args {
		p, err := load(arg)
		if err != nil {
			return nil, err
		}
		all = append(all, *p)
	}
	return all, nil
}

// distinct returns an error if two policies have one name. The parameter args has what they were found by.
func distinct(all []policy.Policy, args []string) error {
	for i := range all {
		if slices.ContainsFunc(all[:i], func(p policy.Policy) bool { return p.Name == all[i].Name }) {
			return cmdline.Usage("two policies have the name %q: give one another, with name=%s", all[i].Name, args[i])
		}
	}
	return nil
}
