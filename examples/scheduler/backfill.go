package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Backfill starts jobs in the order of submission. The first job that does not fit gets a promise: the instant at which enough
// GPUs will be free if running jobs end as estimated. A job behind it starts out of order only if it keeps the promise, because
// it ends before that instant or uses GPUs that the promised job does not need (EASY backfilling, Lifka, JSSPP 1995).
//
// It counts only whole GPUs. It assumes that a job without an estimate runs for ever.
type Backfill struct {
	queue  []cluster.JobID // in order of submission
	ending []ending        // scratch
	fit    cluster.Placement
}

var _ cluster.Scheduler = (*Backfill)(nil)

// Name implements cluster.Scheduler.
func (*Backfill) Name() string { return "backfill" }

// Reset implements cluster.Scheduler.
func (b *Backfill) Reset(uint64) error {
	b.queue = b.queue[:0]
	return nil
}

// Schedule implements cluster.Scheduler.
func (b *Backfill) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	for _, e := range tx.Events() {
		if e.Kind == cluster.Arrived || e.Kind == cluster.Interrupted {
			b.queue = append(b.queue, e.Job)
		}
	}
	slices.SortStableFunc(b.queue, func(x, y cluster.JobID) int { return cmp.Compare(s.Spec(x).Submit, s.Spec(y).Submit) })
	var p promise
	still := b.queue[:0]
	for _, id := range b.queue {
		var fits bool
		if p.made && !p.keeps(s, id) {
			still = append(still, id)
			continue
		}
		if b.fit, fits = s.BestFit(id, b.fit[:0]); !fits {
			if !p.made {
				p = b.promise(s, id)
			}
			still = append(still, id)
			continue
		}
		if err := tx.Place(id, b.fit); err != nil {
			return err
		}
		if p.made {
			p.use(s, id)
		}
	}
	b.queue = still
	return nil
}

// promise is when the first job that does not fit will start, and how many GPUs will be free besides those that it takes.
type promise struct {
	made  bool
	at    time.Duration
	spare int64
}

// keeps reports whether the promise would still hold if the job started now.
func (p *promise) keeps(s *cluster.View, id cluster.JobID) bool {
	return p.before(s, id) || int64(s.Spec(id).Workers) <= p.spare
}

// before reports whether a job that starts now ends before the promise is due.
func (p *promise) before(s *cluster.View, id cluster.JobID) bool {
	estimate := s.Spec(id).Estimate
	return estimate > 0 && s.Now()+estimate <= p.at
}

// use updates the promise after a job has started out of order.
func (p *promise) use(s *cluster.View, id cluster.JobID) {
	if !p.before(s, id) {
		p.spare -= int64(s.Spec(id).Workers)
	}
}

// ending is when a running job will release its GPUs.
type ending struct {
	at   time.Duration
	gpus int64
}

// promise computes the promise to a job from the expected ends of the running jobs.
func (b *Backfill) promise(s *cluster.View, id cluster.JobID) promise {
	b.ending = b.ending[:0]
	for _, r := range s.Running() {
		if s.Spec(r).Estimate > 0 {
			b.ending = append(b.ending, ending{s.ExpectedFinish(r), int64(s.Placement(r).Workers())})
		}
	}
	slices.SortFunc(b.ending, func(x, y ending) int { return cmp.Compare(x.at, y.at) })
	p := promise{made: true, at: s.Now(), spare: s.FreeTotal() - int64(s.Spec(id).Workers)}
	for _, e := range b.ending {
		if p.spare >= 0 {
			break
		}
		p.at = max(p.at, e.at)
		p.spare += e.gpus
	}
	return p
}
