package candidates

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Mover is the judge that leaves the base as it is, but for running jobs that would go on faster elsewhere or with other
// amounts: those move. Its order is the base's.
type Mover struct {
	Saves time.Duration // of the job's time to go, at least
}

// Reset implements Judge.
func (Mover) Reset(uint64) {}

// Observe implements Judge.
func (Mover) Observe(*cluster.Txn) {}

// Choose implements Judge.
func (m Mover) Choose(_ *cluster.Txn, list []Candidate) (int, error) {
	return max(slices.IndexFunc(list, func(o Candidate) bool {
		return (o.Kind == Move || o.Kind == Grow) && o.Saves >= m.Saves
	}), 0), nil
}
