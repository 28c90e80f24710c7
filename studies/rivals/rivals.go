// Package rivals contains policies that serve only to repeat the experiments of papers: those that the papers compare their own
// scheduler with, and Gavel, Pollux and rollout, which only comparisons play. They reach clustergym through its public packages,
// like any program's own schedulers.
package rivals

import (
	"slices"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
)

// All returns these policies.
func All() []baselines.Baseline {
	return slices.Concat(predicted(), resizing(), []baselines.Baseline{fair(), searched(), lookahead(), opportunistic()})
}

// Table returns the table of these policies and all baselines.
func Table() baselines.Table { return all.Table().With(All()...) }
