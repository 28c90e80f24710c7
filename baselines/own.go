package baselines

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/registry"
)

// own contains the schedulers that the program's main function has added.
var own = registry.New[Baseline]("scheduler")

// elsewhere contains the names of the baselines that package baselines/all adds. A program in production then need not link the
// simulator, which rollout uses, nor the forests with which a-srpt predicts.
var elsewhere = []string{"a-srpt", "rollout"}

// apart reports whether the baseline of that name is one that package baselines/all adds.
func apart(name string) bool { return slices.Contains(elsewhere, name) }

// linked returns the named baseline if the program contains it.
func linked(name string) []Baseline {
	if b, err := own.Get(name); err == nil {
		return []Baseline{b}
	}
	return nil
}

// reserved are names of policies that are no baselines: the prior of a learned team and the policy released with the program.
var reserved = []string{"prior", "released"}

// mustBeFree panics if a policy of the name exists.
func mustBeFree(name string) {
	if _, taken := Find(name); taken || slices.Contains(reserved, name) {
		panic(fmt.Sprintf("scheduler %q: the program already has a policy of that name", name))
	}
}

// Add adds a baseline that declares options. Call it before anything uses baselines. It panics if the name is taken.
func Add(b Baseline) {
	mustBeFree(b.Name)
	own.Add(b.Name, b)
}

// Register adds a scheduler of your own. Call it in the first lines of main, before anything uses baselines. Its name can then
// be used wherever a baseline's can, in New and on the command line: as a policy, with or without MoveSuffix and LoanSuffix, as
// a prior (the base policy that a learned team reviews) and as a rival. It takes no MenuSuffix, because it chooses amounts
// itself, and no options: use Add for a scheduler with options, or register two settings under two names. create makes a fresh
// scheduler, whose method Name must return the same name; several goroutines may call create at once. Register panics if the
// name is taken, or if it is that of a baseline of clustergym that this program does not contain.
func Register(b Baseline, create func() cluster.Scheduler) {
	mustBeFree(b.Name)
	if apart(b.Name) {
		panic(fmt.Sprintf("scheduler %q: a baseline of clustergym has that name", b.Name))
	}
	if got := create().Name(); got != b.Name {
		panic(fmt.Sprintf("scheduler %q: it calls itself %q, want the name that it is registered by", b.Name, got))
	}
	b.Declare = func(*Settings) maker {
		return func(string) cluster.Scheduler { return create() }
	}
	own.Add(b.Name, b)
}
