package baselines

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/registry"
)

// own are the schedulers that a main has added.
var own = registry.New[Baseline]("scheduler")

// The baselines apart from this package: package baselines/all adds them. What production runs need not link the simulator that
// rollout plays, nor the forests that predict.
var (
	predicted = []string{"a-srpt", "spjf", "spwf", "wcs-duration", "wcs-workload", "wcs-subtime"}
	looking   = []string{"rollout"}
)

// apart reports whether a baseline of that name is apart from this package.
func apart(name string) bool {
	return slices.Contains(predicted, name) || slices.Contains(looking, name)
}

// linked returns those of the baselines apart that the program has.
func linked(names []string) (found []Baseline) {
	for _, name := range names {
		if b, err := own.Get(name); err == nil {
			found = append(found, b)
		}
	}
	return found
}

// reserved are what a learned team starts from and the policy that comes with the program, wherever a policy is asked for.
var reserved = []string{"prior", "released"}

// mustBeFree panics where a policy of the name exists.
func mustBeFree(name string) {
	if _, taken := Find(name); taken || slices.Contains(reserved, name) {
		panic(fmt.Sprintf("scheduler %q: the program already has a policy of that name", name))
	}
}

// Add adds a baseline that declares options, before anything uses it. A name that is taken panics.
func Add(b Baseline) {
	mustBeFree(b.Name)
	own.Add(b.Name, b)
}

// Register adds a scheduler of one's own, before anything uses it, as in the first lines of main. Its name then stands wherever
// that of a baseline does, in New and on the command line: as a policy, with MoveSuffix and LoanSuffix behind it or neither, as a
// prior and as a rival. It takes no MenuSuffix, as it chooses amounts itself, and no options: Add takes one that does, or
// register two settings under two names. create makes a fresh scheduler, which calls itself by that name; several goroutines may
// call it at a time. A name that is taken panics, and so does that of a baseline that clustergym has and this program does not.
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
