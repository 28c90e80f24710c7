package cli

import (
	"path/filepath"
	"slices"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/decide"
)

// policy is one that a user named.
type policy struct {
	decide.Policy
	run string // folder in which it was trained, "" if that is not known
}

// finder knows the folders of runs too. It warns of runs whose newest checkpoint is damaged.
func (a *app) finder() *decide.Finder { return &decide.Finder{Run: runReader(a.warn)} }

// verifier is a finder of policies signed by the key in a file, "" for any.
func (a *app) verifier(path string) (*decide.Finder, error) {
	f := a.finder()
	if path == "" {
		return f, nil
	}
	var err error
	f.Key, err = checkpoints.ReadVerifyKey(path)
	return f, err
}

// runReader returns what tells how to read the policy of a run, for decide.Finder.
func runReader(warn func(error)) func(dir string) func() (*agents.Policy, checkpoints.Provenance, error) {
	return func(dir string) func() (*agents.Policy, checkpoints.Provenance, error) {
		if !isRun(dir) {
			return nil
		}
		return func() (*agents.Policy, checkpoints.Provenance, error) { return loadRun(dir, warned(dir, warn)) }
	}
}

// findPolicy reads "[name=]policy", as decide.Finder does.
func (a *app) findPolicy(arg string) (policy, error) {
	found, err := a.finder().Load(arg)
	if err != nil {
		return policy{}, err
	}
	p := policy{Policy: *found}
	if p.Folder != "" {
		for _, from := range []string{p.Folder, filepath.Dir(filepath.Clean(p.Folder))} { // a bundle lies in its run's folder
			if p.run == "" && isRun(from) {
				p.run = from
			}
		}
	}
	return p, nil
}

// eval is the policy as comparisons take it.
func (p *policy) eval() eval.Policy { return eval.Policy{Name: p.Name, Digest: p.Digest, New: p.New} }

// findPolicies reads a list of policies. The prior among them is that of the first learned one. The baseline joins them
// unless it is among them.
func (a *app) findPolicies(args []string, baseline string) ([]policy, error) {
	var all []policy
	var own *decide.Policy // the prior of the first learned one
	for _, arg := range args {
		p, err := a.findPolicy(arg)
		if err != nil {
			return nil, err
		}
		if own == nil {
			own = p.Prior
		}
		all = append(all, p)
	}
	named := func(p policy) bool { return p.Name == baseline }
	if baseline != "" && !slices.ContainsFunc(all, named) {
		p, err := a.findPolicy(baseline)
		if err != nil {
			return nil, err
		}
		p.Name = baseline
		if own == nil {
			own = p.Prior
		}
		all = append(all, p)
	}
	for i := range all {
		for _, other := range all[:i] {
			if other.Name == all[i].Name {
				return nil, usage("two policies have the name %q: give one another, with name=%s", other.Name, args[i])
			}
		}
		if all[i].Name == decide.Prior && all[i].Learned == nil && own != nil {
			all[i].New, all[i].Digest = own.New, own.Digest
		}
	}
	return all, nil
}
