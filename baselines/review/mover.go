package review

import (
	"time"

	"github.com/clustergym/clustergym/baselines/place"
	"github.com/clustergym/clustergym/env/cluster"
)

// Mover is the judge that leaves the base as it is, but for running jobs that would go on faster elsewhere or with other
// amounts: those move. Its order is the base's.
type Mover struct {
	Saves time.Duration // of the job's time to go, at least, by what profiles say
}

// Reset implements Judge.
func (Mover) Reset(uint64) {}

// Listen implements Judge.
func (Mover) Listen(*cluster.Txn) {}

// Choose implements Judge.
func (m Mover) Choose(tx *cluster.Txn, offers []Offer) (int, error) {
	s := tx.State()
	for i := range offers {
		o := &offers[i]
		if o.Kind != Move && o.Kind != Grow {
			continue
		}
		profile, mark := place.Profile(s), tx.Mark()
		before, left := profile.Speed(s, o.Job), s.ExpectedFinish(o.Job)-s.Now()
		if err := o.Apply(tx); err != nil {
			return 0, err
		}
		saved := time.Duration(float64(left) * (1 - before/profile.Speed(s, o.Job)))
		if tx.Rollback(mark); saved >= m.Saves {
			return i, nil
		}
	}
	return 0, nil
}
