package baselines

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/registry"
)

// own are the schedulers that a main has added.
var own = registry.New[Baseline]("scheduler")

// reserved are what a learned team starts from and the policy that comes with the program, wherever a policy is asked for.
var reserved = []string{"prior", "released"}

// Register adds a scheduler of one's own, before anything uses it, as in the first lines of main. Its name then stands wherever
// that of a baseline does, in New and on the command line: as a policy, with MoveSuffix and LoanSuffix behind it or neither, as a
// prior and as a rival. It takes no MenuSuffix, as it chooses amounts itself, and no options: register two settings under two
// names. create makes a fresh scheduler, which calls itself by that name; several goroutines may call it at a time. A name that
// is taken panics.
func Register(b Baseline, create func() cluster.Scheduler) {
	if _, taken := Find(b.Name); taken || slices.Contains(reserved, b.Name) {
		panic(fmt.Sprintf("scheduler %q: the program already has a policy of that name", b.Name))
	}
	if got := create().Name(); got != b.Name {
		panic(fmt.Sprintf("scheduler %q: it calls itself %q, want the name that it is registered by", b.Name, got))
	}
	b.declare = func(*settings) maker {
		return func(string) cluster.Scheduler { return create() }
	}
	own.Add(b.Name, b)
}
