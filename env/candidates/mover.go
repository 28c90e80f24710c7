package candidates

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Mover is a judge that follows the base's decisions and their order, except that it moves or resizes a running job if the job
// would finish sooner elsewhere or with other amounts.
type Mover struct {
	Saves time.Duration // the least reduction of a job's remaining time that is worth the change
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
