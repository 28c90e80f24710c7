package rollout

import (
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Config are the options of a rollout.
type Config struct {
	candidates.Config
	// Play makes the scheduler that plays in place of the base in rollouts, so that they are faster. nil stands for the base
	// itself.
	Play func() cluster.Scheduler

	Futures int           // number of futures over which every candidate is played, at least 1
	Ahead   time.Duration // how long jobs arrive in a future; it is played until all have ended
	Errors  float64       // number of standard errors that a candidate must save to be taken, from 0
	Budget  int           // most decision points played for one decision; when they are used up, the base decides
	Pause   time.Duration // assumed cost of a restart of a job

	// Oracle, if not nil, returns the true future, which replaces the drawn ones. The scheduler is then clairvoyant and cannot be
	// deployed.
	Oracle func(now time.Duration) sim.Rest
}

// Default returns the default options for a base scheduler, which must not be nil.
func Default(base func() cluster.Scheduler) Config {
	return Config{
		Config: candidates.Default(base), Futures: 4, Ahead: 2 * time.Hour, Errors: 2, Budget: 10_000, Pause: time.Minute,
	}
}
