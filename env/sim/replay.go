package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Replay runs the simulator again with exactly the operations of a log, at their instants, and returns the new log. The new log
// equals the old one, byte for byte when written. Replay returns an error if the log contains an operation that the cluster does
// not allow or an event that the simulation does not produce. The error names the record, and its line if the log was read from a
// file.
func Replay(log *Log) (*Log, error) { return replay(log, Look{}) }

// Look contains what Visit calls at every decision of a log; each may be nil. Visit calls Before with the state that the
// scheduler saw, and After once the scheduler's operations have been proposed as well. Neither may change anything. After returns
// whether to go on. The parameter done is the number of records before those of the decision.
type Look struct {
	// Begin is called first, with the simulator that plays the log again, for example to watch it.
	Begin  func(s *Sim)
	Before func(tx *cluster.Txn, done int)
	After  func(tx *cluster.Txn, done int) (more bool)
	// branch is called between the two, before anything is proposed, and returns whether to go on.
	branch func(p *player, tx *cluster.Txn) (more bool, err error)
}

// Visit runs the simulator again as Replay does, and calls look at every decision until look.After returns false.
func Visit(log *Log, look Look) error {
	_, err := replay(log, look)
	if errors.Is(err, errSeenEnough) {
		return nil
	}
	return err
}

var errSeenEnough = errors.New("seen enough")

func replay(log *Log, look Look) (*Log, error) {
	s, err := New(log.Config, log.Jobs)
	if err != nil {
		return nil, fmt.Errorf("replay log: %w", err)
	}
	s.log.Scheduler = log.Scheduler
	if look.Begin != nil {
		look.Begin(s)
	}
	p := player{old: log, sim: s}
	for p.at < len(log.Records) {
		from, warm := p.at, s.warm
		tx, ok := s.Next()
		if err := p.match(); err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if p.at == len(log.Records) {
			return &s.log, nil // the original scheduler returned an error here
		}
		if look.Before != nil {
			look.Before(tx, p.at)
		}
		if look.branch != nil {
			if more, err := look.branch(&p, tx); err != nil || !more {
				return nil, cmp.Or(err, errSeenEnough)
			}
		}
		if err := p.propose(tx); err != nil {
			return nil, err
		}
		if look.After != nil && !look.After(tx, p.at) {
			return nil, errSeenEnough
		}
		s.Commit()
		if err := p.match(); err != nil {
			return nil, err
		}
		if from == 0 && p.at < len(log.Records) && log.Records[p.at].Kind == Measure && log.Records[p.at].At == 0 {
			s.found() // only jobs that run from the beginning are measured at 0
			if err := p.match(); err != nil {
				return nil, err
			}
		}
		if p.at == from && !warm && log.Records[p.at].Kind != End {
			return nil, p.refuse(p.at, errors.New("nothing happens then"))
		}
	}
	if p.at < len(log.Records) {
		return nil, p.refuse(p.at, errors.New("the episode is over by then"))
	}
	return &s.log, nil
}

// player keeps the position in a log while the simulator runs its episode again.
type player struct {
	old *Log
	sim *Sim
	at  int // the next record of old to be matched
}

// refuse returns an error that says why the i-th record of the old log is not possible.
func (p *player) refuse(i int, why error) error {
	r := &p.old.Records[i]
	return fmt.Errorf("replay log: record %d (line %d): %s at %v: %w", i, i+2, p.old.describe(r), r.At, why)
}

// FirstDifference returns the index of the first record in which two logs of the same episode differ; ok is false if they do not
// differ.
func FirstDifference(a, b *Log) (i int, ok bool) {
	for i := range min(len(a.Records), len(b.Records)) {
		if !sameRecord(a, &a.Records[i], b, &b.Records[i]) {
			return i, true
		}
	}
	return min(len(a.Records), len(b.Records)), len(a.Records) != len(b.Records)
}

// match compares the records that the simulator has added since the last call with the old log.
func (p *player) match() error {
	log := &p.sim.log
	for ; p.at < len(log.Records); p.at++ {
		r := &log.Records[p.at]
		if p.at == len(p.old.Records) {
			return fmt.Errorf("replay log: it ends after record %d (line %d), before %s at %v", p.at-1, p.at+1, log.describe(r), r.At)
		}
		if old := &p.old.Records[p.at]; !sameRecord(p.old, old, log, r) {
			return p.refuse(p.at, fmt.Errorf("the simulation has %s at %v", log.describe(r), r.At))
		}
	}
	return nil
}

func sameRecord(a *Log, x *Record, b *Log, y *Record) bool {
	return x.At == y.At && x.Kind == y.Kind && x.Job == y.Job && x.Server == y.Server &&
		(x.Index == y.Index || x.Kind.places()) &&
		slices.Equal(a.Placement(x), b.Placement(y)) && slices.Equal(a.GPUs(x), b.GPUs(y)) &&
		(x.Kind != End || a.Outcome == b.Outcome) && (x.Kind != Measure || a.Speed(x) == b.Speed(y))
}

// describe returns the record as text, without its time.
func (l *Log) describe(r *Record) string {
	switch r.Kind {
	case Loan, Reclaim, Seize:
		return fmt.Sprintf("%v server %d", r.Kind, r.Server)
	case Fail, Repair:
		return fmt.Sprintf("%v server %d GPU %d", r.Kind, r.Server, r.Index)
	case Need:
		return fmt.Sprintf("need %+v", l.Config.Demand[r.Index])
	case Measure:
		return fmt.Sprintf("measure job %d at speed %v", r.Job, l.Speed(r))
	case End:
		return fmt.Sprintf("end %+v", l.Outcome)
	case Start, Resize, Migrate:
		return fmt.Sprintf("%v job %d on %+v GPUs %v", r.Kind, r.Job, l.Placement(r), l.GPUs(r))
	}
	return fmt.Sprintf("%v job %d", r.Kind, r.Job)
}

// propose proposes the operations that the old log has next at this instant, and requests a wake-up for the decision after it if
// that is needed.
func (p *player) propose(tx *cluster.Txn) error {
	next := p.at
	for ; next < len(p.old.Records); next++ {
		r := &p.old.Records[next]
		if r.At != tx.Now() || !operation(r.Kind) {
			break
		}
		if err := p.do(tx, r); err != nil {
			return p.refuse(next, err)
		}
	}
	for next < len(p.old.Records) && silent(p.old.Records[next].Kind) {
		next++
	}
	switch last := len(p.old.Records) - 1; {
	case next <= last:
		p.wake(tx, &p.old.Records[next])
	case p.old.Records[last].Kind == Need: // the original scheduler failed at a later instant that left no record
		tx.WakeAt(p.old.Records[last].At + 1)
	case p.old.Records[last].Kind == Measure: // it failed then or later
		tx.WakeAt(p.old.Records[last].At)
	}
	return nil
}

// wake requests a wake-up for the next record if it is an operation or the end: the original scheduler may have had a decision
// point there that no event explains.
func (p *player) wake(tx *cluster.Txn, r *Record) {
	switch {
	case operation(r.Kind):
		tx.WakeAt(r.At)
	case r.Kind == End && p.old.Outcome.Truncated == horizonReached(p.old.Config.Horizon):
		tx.WakeAt(p.old.Config.Horizon + 1)
	case r.Kind == End:
		tx.WakeAt(r.At)
	}
}

// silent reports whether the simulator may record an event of this kind without calling a scheduler. It calls one for a Need
// record that changes the offer.
func silent(k Kind) bool { return k == Need || k == Measure }

func operation(k Kind) bool { return slices.Contains(kindOf[:], k) }

func (p *player) do(tx *cluster.Txn, r *Record) error {
	place := p.old.Placement(r)
	switch r.Kind {
	case Start:
		return tx.Place(r.Job, place)
	case Resize:
		return tx.Resize(r.Job, place)
	case Migrate:
		return tx.Migrate(r.Job, place)
	case Preempt:
		return tx.Preempt(r.Job)
	case Loan:
		return tx.Loan(r.Server)
	default:
		return tx.Reclaim(r.Server)
	}
}

func horizonReached(h time.Duration) string { return fmt.Sprintf("horizon %v", h) }
