package baselines

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/baselines/option"
)

// The suffixes of policies, in the order in which they come.
const (
	MenuSuffix = "+menu" // behind an order of jobs: jobs get amounts and workers from a menu and not as requested
	MoveSuffix = "+move" // behind a baseline: running jobs move to where they would run faster
	LoanSuffix = "+loan" // behind any policy: it borrows servers of the inference pool
	KnowSuffix = "+know" // behind any policy: what it knows of run times and of speeds
)

// Suffixes returns the suffixes in their order.
func Suffixes() []string { return []string{MenuSuffix, MoveSuffix, LoanSuffix, KnowSuffix} }

// Mistake is an error in the name of a policy.
type Mistake struct {
	Policy string
	At     int // the byte of Policy at which the word begins that is wrong
	Err    error
}

func (m *Mistake) Error() string {
	if m.At == 0 {
		return fmt.Sprintf("policy %q: %v", m.Policy, m.Err)
	}
	return fmt.Sprintf("policy %q, character %d: %v", m.Policy, m.At+1, m.Err)
}

// Parse reads the name of a baseline with its options and suffixes, without a label. Every error is a Mistake.
func (t Table) Parse(name string) (Spec, error) {
	s, err := t.parse(name, 0)
	if err == nil && !s.IsBaseline() {
		err = &Mistake{name, 0, option.Unknown("such baseline", headOf(name), t.Names())}
	}
	return s, err
}

// ParseAll is Parse for several names.
func (t Table) ParseAll(names ...string) ([]Spec, error) {
	all := make([]Spec, len(names))
	for i, name := range names {
		var err error
		if all[i], err = t.Parse(name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Parse is Table.Parse for the baselines of this package.
func Parse(name string) (Spec, error) { return Table{}.Parse(name) }

// ParsePolicy reads the name of any policy. What is no baseline is the Base as a whole, but for the suffixes that any policy
// takes. Every error is a Mistake.
func (t Table) ParsePolicy(name string) (s Spec, err error) {
	label, behind, found := strings.Cut(name, "=")
	inOptions := strings.Contains(label, LoanSuffix+":") || strings.Contains(label, KnowSuffix+":")
	if !found || inOptions || t.Known(name) { // an option has the sign, too
		label, behind = "", name
	}
	if behind == "" || found && name[0] == '=' {
		return s, &Mistake{name, 0, errors.New("want a name, a folder, or name=folder")}
	}
	s, err = t.parse(name, len(name)-len(behind))
	s.Label = label
	return s, err
}

// parse reads a name from a byte on.
func (t Table) parse(name string, from int) (Spec, error) {
	known := t.Known(name[from:])
	words := split(name[from:], known)
	s := Spec{Base: words[0], Suffixes: words[1:], table: t}
	before, orders := "", false
	for i, w := range words {
		mistake := func(at int, err error) (Spec, error) { return s, &Mistake{name, from + at, err} }
		word := wordOf(w)
		b, err := t.find(word)
		switch plus := strings.LastIndexByte(word, '+'); {
		case i == 0 && !known:
			from += len(w)
			continue
		case plus > 0:
			return mistake(plus, option.Unknown("suffix", word[plus:], Suffixes()))
		case err != nil:
			return mistake(0, err)
		case word == MenuSuffix && !orders:
			return mistake(0, fmt.Errorf("it chooses amounts itself, want %s behind an order of jobs", MenuSuffix))
		case i > 0 && !follows(before, word) || i > 1 && strings.Contains(strings.Join(words[1:i], ""), word):
			return mistake(0, fmt.Errorf("%s behind %s, want suffixes once each, in the order %s", word, before,
				strings.Join(Suffixes(), "")))
		}
		set := Settings{Table: t, menu: s.suffix(MenuSuffix)}
		b.Declare(&set)
		if at, err := set.Parse(optionsOf(w)); err != nil {
			return mistake(len(word)+1+at, err)
		}
		if i == 0 {
			s.baseline, s.needs, s.files, orders = b, set.Needs, set.Files, set.orders
		}
		before = word
		from += len(w)
	}
	return s, nil
}

// follows reports whether a suffix may come behind another, or behind the base.
func follows(before, suffix string) bool {
	at := func(suffix string) int { return slices.Index(Suffixes(), suffix) }
	return at(before) < at(suffix) || before == KnowSuffix && suffix == LoanSuffix
}

// split cuts a name into its base and its suffixes. What is no baseline keeps all but those that any policy takes.
func split(name string, known bool) (words []string) {
	for at := len(name) - 1; at > 0; at-- {
		word := wordOf(name[at:])
		if name[at] != '+' || !slices.Contains(Suffixes(), word) {
			continue
		}
		if !known && word != LoanSuffix && word != KnowSuffix {
			break
		}
		words, name = append(words, name[at:]), name[:at]
	}
	words = append(words, name)
	slices.Reverse(words)
	return words
}

// wordOf returns a word without its options.
func wordOf(text string) string {
	word, _, _ := strings.Cut(text, ":")
	return word
}

// optionsOf returns the options behind a word.
func optionsOf(text string) string {
	_, options, _ := strings.Cut(text, ":")
	return options
}

// declares declares the options of a suffix.
func declares[T any](declare func(*option.Set) *T) func(*Settings) maker {
	return func(s *Settings) maker {
		declare(&s.Set)
		return nil
	}
}

// options returns what the options of a suffix say, which were checked when the name was parsed.
func options[T any](declare func(*option.Set) *T, suffix string) *T {
	var s option.Set
	c := declare(&s)
	if _, err := s.Parse(optionsOf(suffix)); err != nil {
		panic("baselines: " + err.Error())
	}
	return c
}

// find returns a baseline or a suffix by name, or an error that says where it is.
func (t Table) find(name string) (Baseline, error) {
	b, ok := t.Find(name)
	switch instead := missing[name]; {
	case ok:
		return b, nil
	case instead != "":
		return b, fmt.Errorf("%s served only experiments of papers, which are now in clustergym-studies; use %s", name, instead)
	}
	return b, fmt.Errorf("%s is not part of this program; clustergym and any program with the table of baselines/all have it", name)
}
