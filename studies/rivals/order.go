package rivals

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/baselines/asrpt"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// order starts waiting jobs in the order of a predicted property and never stops one. A job that does not fit blocks all jobs
// behind it; with skip, it is passed over instead.
type order struct {
	name      string
	skip      bool
	place     placement.Placer
	durations *asrpt.Durations // nil for the order of submission
	key       key              // the least starts first
	waiting   []ticket         // in order
	refused   map[placement.Kind]bool
}

// key predicts a property of a job.
type key = func(*asrpt.Durations, *cluster.View, cluster.JobID) time.Duration

// ticket is a waiting job's place in the order: by key, then id.
type ticket struct {
	key time.Duration
	job cluster.JobID
}

func (a ticket) compare(b ticket) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.job, b.job))
}

func (o *order) Name() string { return o.name }

func (o *order) Reset(seed uint64) error {
	o.place.Reset(seed)
	if o.durations != nil {
		o.durations.Reset(seed)
	}
	o.waiting, o.refused = o.waiting[:0], map[placement.Kind]bool{}
	return nil
}

func (o *order) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	for _, e := range tx.Events() {
		if o.durations != nil {
			o.durations.Note(s, e)
		}
		if e.Kind == cluster.Arrived || e.Kind == cluster.Interrupted {
			t := ticket{s.Spec(e.Job).Submit, e.Job}
			if o.durations != nil {
				t.key = o.key(o.durations, s, e.Job)
			}
			at, _ := slices.BinarySearchFunc(o.waiting, t, ticket.compare)
			o.waiting = slices.Insert(o.waiting, at, t)
		}
	}
	if err := o.start(tx); err != nil {
		return err
	}
	return placement.Finish(o.place, tx)
}

// start starts the jobs that fit. Jobs of a kind that was refused are not tried again at this decision.
func (o *order) start(tx *cluster.Txn) error {
	clear(o.refused)
	kept := o.waiting[:0]
	for i, t := range o.waiting {
		kind := o.place.Kind(tx.View(), t.job)
		if o.refused[kind] {
			kept = append(kept, t)
			continue
		}
		started, err := o.place.Place(tx, t.job)
		switch {
		case err != nil:
			return err
		case started:
			continue
		case !o.skip:
			o.waiting = append(kept, o.waiting[i:]...)
			return nil
		}
		o.refused[kind] = true
		kept = append(kept, t)
	}
	o.waiting = kept
	return nil
}
