package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/serve"
)

// prior is the policy that an untrained team follows.
const prior = "prior"

// policyNames lists the policies that have a name.
func policyNames() []string {
	return append(baselines.Names(), prior, released.Name)
}

// policy is one that a user named.
type policy struct {
	eval.Policy
	learned  *agents.Policy         // nil for a baseline
	training checkpoints.Provenance // of a learned one
	run      string                 // folder in which it was trained, "" if that is not known
}

// findPolicy reads "[name=]policy", where policy is a baseline, prior, released, or the folder of an exported policy or
// a run.
func findPolicy(arg string) (policy, error) {
	name, what, named := strings.Cut(arg, "=")
	if named = named && !baselines.Known(arg); !named { // options of baselines hold = too
		name, what = "", arg
	}
	if named && name == "" || what == "" {
		return policy{}, usage("policy %q: want a name, a folder, or name=folder", arg)
	}
	p, err := newPolicy(what)
	if err == nil && name != "" {
		p.Name = name
		if p.learned != nil {
			p.learned.Name = name // so the log of an episode, and what is drawn from it, says the same
		}
	}
	return p, err
}

func newPolicy(what string) (policy, error) {
	if baselines.Known(what) {
		if _, err := baselines.New(what); err != nil {
			return policy{}, usage("%v", err)
		}
		digest, err := optionFiles(what)
		create := func() (cluster.Scheduler, error) { return baselines.New(what) }
		return policy{Policy: eval.Policy{Name: what, Digest: digest, New: create}}, err
	}
	if inner, borrow, err := baselines.CutLoan(what); err != nil {
		return policy{}, usage("%v", err)
	} else if borrow != nil {
		return borrower(inner, strings.TrimPrefix(what, inner), borrow)
	}
	if what == prior {
		return priorOf(nil)
	}
	if what == released.Name {
		return releasedPolicy()
	}
	info, err := os.Stat(what)
	switch {
	case err == nil && info.IsDir():
		return learnedPolicy(what)
	case err == nil:
		return policy{}, usage("policy %s is a file: want a baseline, released, or the folder of a policy or run", what)
	case errors.Is(err, os.ErrNotExist) && strings.ContainsRune(what, filepath.Separator):
		return policy{}, noRun(fmt.Errorf("policy %s: no such folder", what))
	case errors.Is(err, os.ErrNotExist):
		return policy{}, usage("policy %q: no such baseline or folder%s", what, didYouMean(what, policyNames()))
	}
	return policy{}, fmt.Errorf("policy: %w", err)
}

// borrower is a policy that also borrows from the inference pool.
func borrower(what, suffix string, borrow func(cluster.Scheduler) cluster.Scheduler) (policy, error) {
	p, err := newPolicy(what)
	if err != nil {
		return policy{}, err
	}
	inner := p.New
	p.Name += suffix
	p.New = func() (cluster.Scheduler, error) {
		s, err := inner()
		if err != nil {
			return nil, err
		}
		return borrow(s), nil
	}
	return p, nil
}

// learnedPolicy reads an exported policy or the best weights of a run.
func learnedPolicy(dir string) (policy, error) {
	p, training, err := loadLearned(dir)
	if err != nil {
		return policy{}, err
	}
	out := teamOf(p, training)
	for _, from := range []string{dir, filepath.Dir(filepath.Clean(dir))} { // a bundle lies in its run's folder
		if out.run == "" && isRun(from) {
			out.run = from
		}
	}
	return out, nil
}

// releasedPolicy is the policy that comes with the program.
func releasedPolicy() (policy, error) {
	p, m, err := agents.LoadFS(released.FS())
	if err != nil {
		return policy{}, fmt.Errorf("policy %s: %w", released.Name, err)
	}
	p.Name = released.Name
	return teamOf(p, m.Training), nil
}

func teamOf(p *agents.Policy, training checkpoints.Provenance) policy {
	create := func() (cluster.Scheduler, error) { return agents.NewTeam(p), nil }
	return policy{Policy: eval.Policy{Name: p.Name, Digest: p.Digest(), New: create}, learned: p, training: training}
}

// optionFiles is a digest of the files that the options of a baseline name, "" if there are none.
func optionFiles(name string) (string, error) {
	h := sha256.New()
	any := false
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == ':' || r == '=' || r == '+' }) {
		info, err := os.Stat(word)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := os.ReadFile(word)
		if err != nil {
			return "", fmt.Errorf("policy %s: %w", name, err)
		}
		any = true
		h.Write(text)
	}
	if !any {
		return "", nil
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// priorOf is the prior of a learned policy, the usual one for nil.
func priorOf(p *agents.Policy) (policy, error) {
	if p == nil {
		var err error
		draw := rng.Stream(0, prior)
		if p, err = agents.NewPolicy(prior, agents.DefaultSize(), agents.DefaultWindow, agents.DefaultPrior, draw); err != nil {
			return policy{}, err
		}
	}
	create := func() (cluster.Scheduler, error) { return agents.NewPrior(p), nil }
	return policy{Policy: eval.Policy{Name: prior, Digest: p.Digest(), New: create}}, nil
}

// served is the policy as a runtime takes it.
func (p *policy) served() (*serve.Policy, error) {
	s := &serve.Policy{Name: p.Name, Digest: p.Digest, New: p.New}
	if p.learned != nil {
		from, err := priorOf(p.learned)
		if err != nil {
			return nil, err
		}
		s.Prior = &serve.Policy{Name: from.Name, Digest: from.Digest, New: from.New}
	}
	return s, nil
}

// findPolicies reads a list of policies. The prior among them is that of the first learned one. The baseline joins them
// unless it is among them.
func findPolicies(args []string, baseline string) ([]policy, error) {
	var all []policy
	var first *agents.Policy
	for _, arg := range args {
		p, err := findPolicy(arg)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = p.learned
		}
		all = append(all, p)
	}
	named := func(p policy) bool { return p.Name == baseline }
	if baseline != "" && !slices.ContainsFunc(all, named) {
		p, err := newPolicy(baseline)
		if err != nil {
			return nil, err
		}
		p.Name = baseline
		if first == nil {
			first = p.learned
		}
		all = append(all, p)
	}
	for i := range all {
		for _, other := range all[:i] {
			if other.Name == all[i].Name {
				return nil, usage("two policies have the name %q: give one another, with name=%s", other.Name, args[i])
			}
		}
		if all[i].Name == prior && all[i].learned == nil && first != nil {
			p, err := priorOf(first)
			if err != nil {
				return nil, err
			}
			all[i].New, all[i].Digest = p.New, p.Digest
		}
	}
	return all, nil
}

func loadLearned(dir string) (*agents.Policy, checkpoints.Provenance, error) {
	if isRun(dir) {
		return loadRun(dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); errors.Is(err, os.ErrNotExist) {
		return nil, checkpoints.Provenance{}, noRun(fmt.Errorf("%s holds no manifest.json of a policy and no run.yaml of a run", dir))
	}
	p, m, err := agents.Load(dir)
	if err != nil {
		return nil, checkpoints.Provenance{}, err
	}
	return p, m.Training, nil
}
