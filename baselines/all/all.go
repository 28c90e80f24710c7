// Package all has the table of all baselines: those of package baselines, and A-SRPT, which it does not link itself because it
// predicts with random forests.
package all

import (
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
)

// Table returns the table of all baselines.
func Table() baselines.Table { return baselines.Table{}.With(predicts()) }

// New returns a fresh scheduler by its name, as Table.New of package baselines.
func New(name string) (cluster.Scheduler, error) { return Table().New(name) }

type maker = func(name string) cluster.Scheduler
