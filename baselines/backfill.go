package baselines

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/baselines/easy"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// backfill lets jobs start behind the first one in a list that does not fit, by EASY backfilling (see package easy).
type backfill struct {
	on       bool
	reserved easy.Reservation
	queue    []ticket                // the waiting jobs in order
	refused  map[placement.Kind]bool // kinds of jobs that found no servers in this decision
}

// backfill is one decision of a list with easy, or with keys that change while jobs wait. It computes the keys of all waiting
// jobs, because predictions may have changed, too. With easy it lets a job start behind the first one that does not fit if, by
// its estimate, it does not delay that job. It takes a job without an estimate for one that never ends.
func (l *list) backfill(tx *cluster.Txn) error {
	s, b := tx.View(), &l.easy
	b.queue = b.queue[:0]
	for _, id := range s.Pending() {
		key, err := l.order(s, id)
		if err != nil {
			return err
		}
		b.queue = append(b.queue, ticket{key: key, job: id})
	}
	slices.SortFunc(b.queue, ticket.compare)
	b.reserved.Clear()
	b.refused = map[placement.Kind]bool{}
	for _, t := range b.queue {
		kind, lasts := l.place.Kind(s, t.job), duration(s, t.job)
		if b.refused[kind] || b.reserved.Delays(s, t.job, lasts) {
			continue
		}
		started, err := l.place.Place(tx, t.job)
		switch {
		case err != nil:
			return err
		case started:
			b.reserved.Started(s, t.job, lasts)
		case !b.on:
			return nil
		default:
			b.refused[kind] = true
			b.reserved.Make(s, t.job, s.Left)
		}
	}
	return nil
}

// duration returns how long a waiting job will run as requested, or Never if nothing is known about it.
func duration(s *cluster.View, id cluster.JobID) time.Duration {
	if left, known := s.Remaining(id); known {
		return left
	}
	return cluster.Never
}
