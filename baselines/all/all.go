// Package all adds to package baselines the baselines that it does not link itself: rollout, which looks ahead in the simulator,
// and A-SRPT, which predicts with random forests. A program that decides in production leaves them out and links neither the
// simulator nor the forests.
package all

import (
	"sync"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
)

// Register adds these baselines, so that package baselines finds them by name like its own. Call it first in main, before
// anything asks for a policy. All calls after the first do nothing. The command line calls it itself.
func Register() { register() }

var register = sync.OnceFunc(func() {
	baselines.Add(predicts())
	baselines.Add(looks())
})

type maker = func(name string) cluster.Scheduler
