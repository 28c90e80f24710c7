package rollout

import (
	"time"

	"github.com/clustergym/clustergym/baselines/place"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Config says what is looked ahead over, and how far.
type Config struct {
	// Base makes the scheduler that is improved on. It is made anew, and told of the cluster as of a snapshot, wherever it is
	// played on and after every decision that was not its own; what it has learned until then is lost.
	Base func() cluster.Scheduler
	// Play makes the scheduler that is played on in its place where that is to be faster; nil for the base itself.
	Play func() cluster.Scheduler
	// Start makes the placer of jobs that the base would not start.
	Start func() place.Placer
	// Menu allows jobs other amounts and numbers of workers than they ask for, and shared GPUs.
	Menu bool

	Futures int           // futures that every alternative is played over, 1 or more
	Ahead   time.Duration // how long jobs arrive in a future; it is played until all have ended
	Items   int           // alternatives to a start, at most
	Errors  float64       // standard errors that an alternative must save to be taken, 0 or more
	Scarce  float64       // part of the GPUs below which free ones are looked after although nobody waits
	Hold    time.Duration // after which a job is no longer kept from starting
	Budget  int           // decision points played for one decision, at most; what is then undecided is up to the base
	Pause   time.Duration // what a restart is taken to cost a job

	// Oracle, if not nil, tells the one future that there is, in the place of those that are drawn: what follows is clairvoyant
	// and no policy that could be deployed.
	Oracle func(now time.Duration) sim.Rest
}

// Default returns the defaults over a base, which must not be nil.
func Default(base func() cluster.Scheduler) Config {
	return Config{
		Base: base, Start: func() place.Placer { return &place.BestFit{} },
		Futures: 4, Ahead: 2 * time.Hour, Items: 4, Errors: 2, Hold: 2 * time.Hour, Scarce: 0.1, Budget: 10_000, Pause: time.Minute,
	}
}
