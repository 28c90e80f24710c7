package review

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

// Listen implements Judge.
func (Mover) Listen(*cluster.Txn) {}

// Choose implements Judge.
func (m Mover) Choose(_ *cluster.Txn, offers []Offer) (int, error) {
	return max(slices.IndexFunc(offers, func(o Offer) bool {
		return (o.Kind == Move || o.Kind == Grow) && o.Saves >= m.Saves
	}), 0), nil
}
