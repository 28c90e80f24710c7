package rollout

import (
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Config says what is looked ahead over, and how far.
type Config struct {
	candidates.Config
	// Play makes the scheduler that is played on in the base's place where that is to be faster; nil for the base itself.
	Play func() cluster.Scheduler

	Futures int           // futures that every candidate is played over, 1 or more
	Ahead   time.Duration // how long jobs arrive in a future; it is played until all have ended
	Errors  float64       // standard errors that a candidate must save to be taken, 0 or more
	Budget  int           // decision points played for one decision, at most; what is then undecided is up to the base
	Pause   time.Duration // what a restart is taken to cost a job

	// Oracle, if not nil, tells the one future that there is, in the place of those that are drawn: what follows is clairvoyant
	// and no policy that could be deployed.
	Oracle func(now time.Duration) sim.Rest
}

// Default returns the defaults over a base, which must not be nil.
func Default(base func() cluster.Scheduler) Config {
	return Config{
		Config: candidates.Default(base), Futures: 4, Ahead: 2 * time.Hour, Errors: 2, Budget: 10_000, Pause: time.Minute,
	}
}
