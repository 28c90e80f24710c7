package baselines

import (
	"fmt"

	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/cluster"
)

// Baseline describes a scheduler and makes it.
type Baseline struct {
	Name   string `json:"name"`
	About  string `json:"about"`  // a line for lists
	Rule   string `json:"rule"`   // how it decides, in two sentences
	Source string `json:"source"` // the source it follows, and which parts are reconstructed
	Needs  string `json:"needs"`  // what it needs to know about jobs

	// Declare declares the options in s. It returns a function that makes a scheduler of the given name once the options are set.
	Declare func(s *Settings) (create func(name string) cluster.Scheduler) `json:"-"`
}

type maker = func(name string) cluster.Scheduler

// Settings are the options of a baseline and what it is made with. Their checks note in Needs and Files what a value needs.
type Settings struct {
	option.Set
	Table Table    // where a baseline finds others
	Given *Given   // nil while a name is only checked: then nothing is read or made
	Needs Needs    // of Given
	Files []string // that are read when the scheduler is made

	menu   string // MenuSuffix with its options; "" without
	orders bool   // the baseline takes MenuSuffix
}

// Menu returns MenuSuffix with its options if the name has it, otherwise "". A baseline that calls Menu takes that suffix.
func (s *Settings) Menu() string {
	s.orders = true
	return s.menu
}

// Options returns the baseline's options.
func (b Baseline) Options() []option.Option { return b.settings().All() }

// Orders reports whether the baseline only orders jobs and leaves the placement to a placer, so that it takes MenuSuffix.
func (b Baseline) Orders() bool { return b.settings().orders }

func (b Baseline) settings() *Settings {
	var s Settings
	b.Declare(&s)
	return &s
}

// Own returns a baseline without options: a scheduler of your own, for Table.With. It takes no MenuSuffix, because it chooses
// amounts itself. create makes a fresh scheduler, whose method Name must return b.Name; several goroutines may call it at once.
// Own panics if the scheduler has another name.
func Own(b Baseline, create func() cluster.Scheduler) Baseline {
	if got := create().Name(); got != b.Name {
		panic(fmt.Sprintf("scheduler %q: it calls itself %q, want the name of the baseline", b.Name, got))
	}
	b.Declare = func(*Settings) maker {
		return func(string) cluster.Scheduler { return create() }
	}
	return b
}
