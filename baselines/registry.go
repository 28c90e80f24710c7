package baselines

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
)

// Baseline describes a scheduler and makes it.
type Baseline struct {
	Name   string
	About  string // a line for lists
	Rule   string // how it decides, in two sentences
	Source string // the source it follows, and which parts are reconstructed
	Needs  string // what it needs to know about jobs

	// Declare declares the options in s. It returns a function that makes a scheduler of the given name once the options are set.
	Declare func(s *Settings) (create func(name string) cluster.Scheduler)
}

type maker = func(name string) cluster.Scheduler

// Settings are the options of a baseline, the suffixes of its name, and what it is given.
type Settings struct {
	option.Set
	Given  Given
	menu   string // MenuSuffix with its options; "" without
	orders bool   // the baseline takes MenuSuffix
}

// Menu returns MenuSuffix with its options if the name has it, otherwise "". A baseline that calls Menu takes that suffix.
func (s *Settings) Menu() string {
	s.orders = true
	return s.menu
}

// Options returns the baseline's options.
func (b Baseline) Options() []option.Option {
	var s Settings
	b.Declare(&s)
	return s.All()
}

// Orders reports whether the baseline only orders jobs and leaves the placement to a placer, so that it takes MenuSuffix.
func (b Baseline) Orders() bool {
	var s Settings
	b.Declare(&s)
	return s.orders
}

// New returns a fresh scheduler with all options at their defaults.
func (b Baseline) New() cluster.Scheduler {
	s, err := b.make(b.Name, "", "", Given{})
	if err != nil {
		panic(fmt.Sprintf("baselines: defaults of %s: %v", b.Name, err))
	}
	return s
}

func (b Baseline) make(name, options, menu string, given Given) (cluster.Scheduler, error) {
	s := Settings{Given: given, menu: menu}
	build := b.Declare(&s)
	if err := s.Parse(options); err != nil {
		return nil, err
	}
	if menu != "" && !s.orders {
		return nil, fmt.Errorf("it chooses amounts itself, want %s behind an order of jobs", MenuSuffix)
	}
	return build(name), nil
}

// Suffixes of the names of baselines. See also MoveSuffix.
const (
	LoanSuffix = "+loan" // the scheduler borrows servers of the inference pool
	MenuSuffix = "+menu" // jobs get amounts and workers from a menu and not as requested
)

// New returns a fresh scheduler by name:
//
//	NAME[:option=value]...[+menu[:option=value]...][+move[:option=value]...][+loan[:option=value]...][+know[:option=value]...]
//
// for example "sjfskip", "srtf+menu" or "a-srpt:tau=1:backfill=true+loan:reclaim=scf". All lists the names.
func New(name string) (cluster.Scheduler, error) { return Given{}.New(name) }

// New is like the function New, with what the baseline is given.
func (g Given) New(name string) (cluster.Scheduler, error) {
	if inner, around, err := g.CutOuter(name); err != nil {
		return nil, err
	} else if around != nil {
		s, err := g.New(inner)
		if err != nil {
			return nil, err
		}
		return around(s), nil
	}
	if inner, rule, err := cutMove(name); err != nil {
		return nil, err
	} else if rule != nil {
		r, err := g.Reviewed(inner)
		if err != nil {
			return nil, err
		}
		r.Moves = true
		return candidates.New(name, r.Config, rule), nil
	}
	base, menuOptions, withMenu := cutSuffix(name, MenuSuffix)
	menu := name[len(base):]
	if withMenu {
		if _, err := parseMenu(menuOptions); err != nil {
			return nil, fmt.Errorf("policy %q: %s: %w", name, MenuSuffix, err)
		}
	}
	base, options, _ := strings.Cut(base, ":")
	b, ok := Find(base)
	if !ok && apart(base) {
		return nil, fmt.Errorf("policy %q: %s is not part of this program, want one of %s; clustergym has it, and so has any program"+
			" that calls Register of package baselines/all", name, base, strings.Join(Names(), ", "))
	}
	if _, left := gone[base]; left && !ok {
		return nil, leaves(name, base)
	}
	if !ok {
		return nil, fmt.Errorf("policy %q: no such baseline, want one of %s, each with or without %s",
			name, strings.Join(Names(), ", "), LoanSuffix)
	}
	s, err := b.make(name, options, menu, g)
	if err != nil {
		return nil, fmt.Errorf("policy %q: %w", name, err)
	}
	return s, nil
}

// Known reports whether the name begins with that of a baseline, of this program or of package baselines/all, or with one that is
// gone. The error of New then tells what is wrong with the name.
func Known(name string) bool {
	if at := strings.IndexAny(name, ":+"); at >= 0 {
		name = name[:at]
	}
	_, ok := Find(name)
	_, left := gone[name]
	return ok || left || apart(name)
}

// Find returns the baseline of that name; the name must contain no options.
func Find(name string) (Baseline, bool) {
	for _, b := range All() {
		if b.Name == name {
			return b, true
		}
	}
	return Baseline{}, false
}

// Describe returns the baseline of that name, or a description of LoanSuffix, MenuSuffix, MoveSuffix or KnowSuffix.
func Describe(name string) (Baseline, bool) {
	for _, b := range []Baseline{borrowers(), menus(), movers(), knowers()} {
		if b.Name == name {
			return b, true
		}
	}
	return Find(name)
}

// Names returns the names of the baselines in the order of All.
func Names() []string {
	var names []string
	for _, b := range All() {
		names = append(names, b.Name)
	}
	return names
}

// CutOuter cuts the last suffix off a name, if it is one that any policy takes: KnowSuffix or LoanSuffix. It returns the rest of
// the name and a function that puts what the suffix stands for around a scheduler; the function is nil if there is no such
// suffix.
func (g Given) CutOuter(name string) (inner string, around func(cluster.Scheduler) cluster.Scheduler, err error) {
	if inner, around, err = g.cutKnow(name); err != nil || around != nil {
		return inner, around, err
	}
	return CutLoan(name)
}

// cutSuffix cuts a suffix and its options off the end of a name.
func cutSuffix(name, suffix string) (rest, options string, found bool) {
	at := strings.LastIndex(name, suffix)
	if at < 0 {
		return name, "", false
	}
	switch behind := name[at+len(suffix):]; {
	case behind == "":
		return name[:at], "", true
	case behind[0] == ':' && !strings.Contains(behind, "+"):
		return name[:at], behind[1:], true
	}
	return name, "", false
}
