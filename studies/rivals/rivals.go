// Package rivals contains policies that serve only to repeat the experiments of papers: those that the papers compare their own
// scheduler with. They reach clustergym through its public packages, like any program's own schedulers.
package rivals

import (
	"slices"
	"sync"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
)

// Register adds these policies, and those of package baselines/all, so that package baselines finds them by name. Call it before
// anything asks for a policy. All calls after the first do nothing.
func Register() { register() }

var register = sync.OnceFunc(func() {
	all.Register()
	for _, b := range slices.Concat(predicted(), resizing(), []baselines.Baseline{opportunistic()}) {
		baselines.Add(b)
	}
})
