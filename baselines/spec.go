package baselines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/baselines/loan"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
)

// Spec is a policy as its name says it:
//
//	[LABEL=]BASE[+menu][+move][+loan][+know], each word with options behind it, as in srtf:place=pack
//
// +loan and +know may also come the other way round: the last is the outermost. A Table parses names, so that they have no
// mistakes. Nobody changes a Spec.
type Spec struct {
	Label    string   // by which the user calls the policy; "" for its own name
	Base     string   // a baseline with its options, or whatever else stands for a policy, such as a folder
	Suffixes []string // each with its options

	table    Table
	baseline Baseline // without a name if Base is something else
	needs    Needs    // of the base
	files    []string
}

// String returns the name exactly as it was written.
func (s Spec) String() string {
	if s.Label != "" {
		return s.Label + "=" + s.Rule()
	}
	return s.Rule()
}

// Rule returns the name without its label.
func (s Spec) Rule() string { return s.Base + strings.Join(s.Suffixes, "") }

// IsBaseline reports whether the base is a baseline, so that New can make the policy. Wrap puts the suffixes around any other.
func (s Spec) IsBaseline() bool { return s.baseline.Name != "" }

// Files returns the files that options of the policy refer to. They are read when a scheduler is made.
func (s Spec) Files() []string { return s.files }

// Needs returns what schedulers of the policy need.
func (s Spec) Needs() Needs { return s.NeedsAround(s.needs) }

// NeedsAround returns what the suffixes that any policy takes need around a policy with the given needs.
func (s Spec) NeedsAround(needs Needs) Needs {
	if know := s.suffix(KnowSuffix); know != "" {
		k := options(knows, know)
		needs.Add(k.needs())
		needs.Estimates = needs.Estimates && k.time == timeTold
	}
	return needs
}

// New returns a fresh scheduler of a baseline with what it is given. Its method Name returns the name without the label. Unless
// an option refers to a file, the only errors are those of Lacks.
func (s Spec) New(g Given) (cluster.Scheduler, error) {
	if err := s.Lacks(g); err != nil {
		return nil, err
	}
	made, err := s.with(LoanSuffix, "").with(KnowSuffix, "").make(&g)
	if err != nil {
		return nil, err
	}
	return s.Wrap(g, made)
}

// make makes a scheduler of a baseline without the suffixes that any policy takes.
func (s Spec) make(g *Given) (cluster.Scheduler, error) {
	if !s.IsBaseline() {
		return nil, fmt.Errorf("policy %q: want a baseline", s)
	}
	if move := s.suffix(MoveSuffix); move != "" {
		r, err := s.with(MoveSuffix, "").Review(*g)
		r.Moves = true
		return candidates.New(s.Rule(), r.Config, options(moves, move)), err
	}
	set := Settings{Table: s.table, Given: g, menu: s.suffix(MenuSuffix)}
	create := s.baseline.Declare(&set)
	if _, err := set.Parse(optionsOf(s.Base)); err != nil {
		return nil, fmt.Errorf("policy %q: %w", s, err)
	}
	return create(s.Rule()), nil
}

// Wrap puts what the suffixes that any policy takes stand for around a scheduler, and adds them to its name. The only errors are
// those of Lacks.
func (s Spec) Wrap(g Given, made cluster.Scheduler) (cluster.Scheduler, error) {
	if err := s.Lacks(g); err != nil {
		return nil, err
	}
	for _, suffix := range s.Suffixes {
		switch name := made.Name() + suffix; wordOf(suffix) {
		case LoanSuffix:
			made = loan.New(name, made, *options(loans, suffix))
		case KnowSuffix:
			made = &knower{made, options(knows, suffix).beliefs(g), name}
		}
	}
	return made, nil
}

// always returns a function that makes schedulers of a policy that lacks nothing.
func (s Spec) always(g Given) func() cluster.Scheduler {
	return func() cluster.Scheduler {
		made, err := s.New(g)
		if err != nil {
			panic("baselines: " + err.Error())
		}
		return made
	}
}

// suffix returns the suffix with that word, "" without.
func (s Spec) suffix(word string) string {
	if at := slices.IndexFunc(s.Suffixes, func(p string) bool { return wordOf(p) == word }); at >= 0 {
		return s.Suffixes[at]
	}
	return ""
}

// with returns the policy with another suffix in place of the one with that word; "" for none.
func (s Spec) with(word, suffix string) Spec {
	s.Suffixes = slices.Clone(s.Suffixes)
	for i := range s.Suffixes {
		if wordOf(s.Suffixes[i]) == word {
			s.Suffixes[i] = suffix
		}
	}
	return s
}

// CutKnow returns the policy without its outermost suffix if that is KnowSuffix, and that suffix.
func (s Spec) CutKnow() (inner Spec, know string) {
	if n := len(s.Suffixes); n > 0 && wordOf(s.Suffixes[n-1]) == KnowSuffix {
		s.Suffixes, know = s.Suffixes[:n-1:n-1], s.Suffixes[n-1]
	}
	return s, know
}

// Beliefs returns new beliefs as the outermost suffix says, nil if that is not KnowSuffix.
func (s Spec) Beliefs(g Given) (*Beliefs, error) {
	_, know := s.CutKnow()
	if err := s.Lacks(g); err != nil || know == "" {
		return nil, err
	}
	return options(knows, know).beliefs(g), nil
}
