package baselines

import (
	"fmt"
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// list starts waiting jobs in a fixed order and never stops one. A job that does not fit blocks all jobs behind it; with skip,
// it is passed over instead. With easy, later jobs may start that do not delay it.
//
//	fifo                   submit, id              blocks
//	fjf, fgd               submit, id              skips (first job that fits)
//	sjf                    estimated duration, id  blocks
//	qssf                   estimated GPU-time, id  blocks
//	wfp3, unicep, f1 to f4 a published score, id   blocks
//	sjfskip, lucid         estimated duration, id  skips
//	sjfhold                estimated duration, id  skips, but holds GPUs for the first job that did not fit: no job starts
//	                                               that is more than hold times as long and would not end before that one
//	                                               could start
type list struct {
	name    string
	skip    bool
	hold    float64 // factor on the duration of the held job; 0 holds nothing
	order   func(*cluster.View, cluster.JobID) (time.Duration, error)
	ages    bool    // keys change while jobs wait; without skip only
	all     queue   // used without skip
	some    waiting // used with skip
	running roster  // used only with hold
	easy    backfill
	place   placement.Placer
}

func bySubmit(s *cluster.View, id cluster.JobID) (time.Duration, error) {
	return s.Spec(id).Submit, nil
}

// byService returns the estimated GPU-time that a waiting job still needs.
func byService(s *cluster.View, id cluster.JobID) (time.Duration, error) {
	return serviceLeft(s, id, 0)
}

// byEstimate returns the estimated time that a job still needs: all of its estimate, or less for a job that was interrupted. It
// returns an error if the job has no estimate.
func byEstimate(s *cluster.View, id cluster.JobID) (time.Duration, error) {
	left, known := s.Remaining(id)
	if !known {
		return 0, fmt.Errorf("job %s %w, which this order needs", s.Spec(id).Name, cluster.ErrNoEstimate)
	}
	return left, nil
}

func (l *list) Name() string { return l.name }

func (l *list) Reset(seed uint64) error {
	l.place.Reset(seed)
	l.all.reset()
	l.some.reset()
	l.running.reset()
	return nil
}

func (l *list) Schedule(tx *cluster.Txn) error {
	if err := l.observe(tx); err != nil {
		return err
	}
	pass := l.block
	switch {
	case l.skip:
		pass = l.fill
	case l.easy.on || l.ages:
		pass = l.backfill
	}
	if err := pass(tx); err != nil {
		return err
	}
	return placement.Finish(l.place, tx)
}

// observe puts the jobs that arrived or were interrupted into the queue.
func (l *list) observe(tx *cluster.Txn) error {
	s := tx.View()
	for _, e := range tx.Events() {
		if l.hold > 0 {
			l.follow(s, e)
		}
		if l.easy.on || l.ages || e.Kind != cluster.Arrived && e.Kind != cluster.Interrupted {
			continue
		}
		key, err := l.order(s, e.Job)
		if err != nil {
			return err
		}
		if t := (ticket{key: key, job: e.Job}); l.skip {
			l.some.push(l.place.Kind(s, e.Job), t)
		} else {
			l.all.push(t)
		}
	}
	return nil
}

// block starts jobs until one does not fit.
func (l *list) block(tx *cluster.Txn) error {
	for l.all.len() > 0 {
		next, stale, err := l.again(tx.View(), l.all.top())
		if err != nil {
			return err
		}
		if stale {
			l.all.pop()
			l.all.push(next)
			continue
		}
		started, err := l.start(tx, next.job)
		if err != nil || !started {
			return err
		}
		l.all.pop()
	}
	return nil
}

// again computes a waiting job's key again and reports whether it has changed: if a job lost its work when it was stopped, it
// entered the queue before it had lost it.
func (l *list) again(s *cluster.View, t ticket) (now ticket, stale bool, err error) {
	now = t
	now.key, err = l.order(s, t.job)
	return now, now.key != t.key, err
}

// follow keeps the running jobs ordered by their expected finish.
func (l *list) follow(s *cluster.View, e cluster.Event) {
	switch e.Kind {
	case cluster.Finished, cluster.Interrupted:
		l.running.drop(e.Job)
	case cluster.Found, cluster.Respeed:
		if s.Knows(e.Job) && s.Phase(e.Job) == cluster.Running {
			l.running.put(s, e.Job, s.ExpectedFinish(e.Job))
		}
	}
}

// fill starts the jobs that fit, in order. With hold, it skips the jobs that would delay the first that did not fit too much.
func (l *list) fill(tx *cluster.Txn) error {
	l.some.pass()
	l.running.refresh(tx.View())
	held := ticket{job: -1}
	bound := math.Inf(1)
	for i := l.some.first(); i >= 0 && float64(l.some.head(i).key) <= bound; i = l.some.first() {
		next, stale, err := l.again(tx.View(), l.some.head(i))
		if err != nil {
			return err
		}
		if stale {
			l.some.pop(i)
			l.some.push(l.some.kinds[i], next)
			continue
		}
		started, err := l.start(tx, next.job)
		switch {
		case err != nil:
			return err
		case started:
			l.some.pop(i)
		default:
			l.some.refuse(i)
			if held.job < 0 {
				held = next
			}
		}
		if l.hold > 0 && held.job >= 0 && (started || held == next) { // a start may delay the held job further
			bound = max(l.hold*float64(held.key), float64(l.running.wait(tx.View(), held.job)))
		}
	}
	return nil
}

func (l *list) start(tx *cluster.Txn, id cluster.JobID) (started bool, err error) {
	if started, err = l.place.Place(tx, id); started && l.hold > 0 {
		l.running.put(tx.View(), id, tx.View().ExpectedFinish(id))
	}
	return started, err
}
