// Package all adds to package baselines those that it does not link itself: rollout, which looks ahead in the simulator, and
// A-SRPT with the orders that it is held against, which predict with random forests. A program that decides in production does
// without them, and links neither simulator nor forests.
package all

import (
	"sync"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
)

// Register adds them, so that package baselines finds them by name like its own. Call it first in main, or before the first
// policy is asked for; every call but the first does nothing. The command line does so by itself.
func Register() { register() }

var register = sync.OnceFunc(func() {
	for _, b := range append(predicted(), looking()...) {
		baselines.Add(b)
	}
})

type maker = func(name string) cluster.Scheduler
