package cli

import (
	"slices"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
)

// finder knows the folders of runs too. It warns of runs whose newest checkpoint is damaged.
func (a *app) finder() *policy.Finder { return &policy.Finder{Run: runReader(a.Warn)} }

// verifier is a finder of policies signed by the key in a file, "" for any.
func (a *app) verifier(path string) (*policy.Finder, error) {
	f := a.finder()
	if path == "" {
		return f, nil
	}
	var err error
	f.Key, err = checkpoints.ReadVerifyKey(path)
	return f, err
}

// runReader returns what tells how to read the policy of a run, for policy.Finder.
func runReader(warn func(error)) func(dir string) func() (*agents.Policy, checkpoints.Provenance, error) {
	return func(dir string) func() (*agents.Policy, checkpoints.Provenance, error) {
		if !isRun(dir) {
			return nil
		}
		return func() (*agents.Policy, checkpoints.Provenance, error) { return loadRun(dir, warned(dir, warn)) }
	}
}

// findPolicy reads "[name=]policy", as policy.Finder does.
func (a *app) findPolicy(arg string) (*policy.Policy, error) { return a.finder().Load(arg) }

// findPolicies reads a list of policies. The prior among them is that of the first learned one. The baseline joins them
// unless it is among them.
func (a *app) findPolicies(args []string, baseline string) ([]policy.Policy, error) {
	var all []policy.Policy
	var own *policy.Policy // the prior of the first learned one
	for _, arg := range args {
		p, err := a.findPolicy(arg)
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
		p, err := a.findPolicy(baseline)
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
			all[i].New, all[i].Digest = own.New, own.Digest
		}
	}
	return all, nil
}
