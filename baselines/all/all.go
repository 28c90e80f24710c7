// Package all has the table of all baselines: those of package baselines, and those that it does not link itself: rollout, which
// looks ahead in the simulator, and A-SRPT, which predicts with random forests. A program that decides in production leaves them
// out and links neither the simulator nor the forests.
package all

import (
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
)

// Table returns the table of all baselines.
func Table() baselines.Table { return baselines.Table{}.With(predicts(), looks()) }

// New returns a fresh scheduler by its name, as Table.New of package baselines.
func New(name string) (cluster.Scheduler, error) { return Table().New(name) }

type maker = func(name string) cluster.Scheduler
