package cluster

import (
	"errors"
	"fmt"
	"time"
)

// ErrInfeasible is wrapped by the error of every operation that the state does not allow. Such an operation changes nothing.
var ErrInfeasible = errors.New("infeasible")

// ErrNoEstimate is wrapped by the error of a scheduler that needs an estimate of a job's duration which the job does not have.
var ErrNoEstimate = errors.New("has no estimate of its duration")

// Scheduler makes the scheduling decisions. The driver calls Schedule at every decision point; the scheduler reads the state and
// proposes operations through the transaction. It must not keep the Txn. It may keep state of its own between calls (a virtual
// machine, queues, a predictor), which Reset clears, and its only clock is Txn.Now.
type Scheduler interface {
	Name() string
	Reset(seed uint64) error
	Schedule(tx *Txn) error
}

// EventKind is the kind of an event.
type EventKind uint8

// The events that schedulers receive.
const (
	Arrived  EventKind = iota // a job was submitted
	Finished                  // a job has done its work
	Found                     // a job that was running already when the scheduler first saw the cluster
	Respeed                   // the rate of a running job has changed, or is not 1 from its start
	Woke                      // the instant has come for which the scheduler asked with WakeAt
	// Interrupted is a job that a failure or the inference pool has stopped. It waits again and keeps part of its progress.
	Interrupted
	Failed   // a server, or a GPU of it, went out of service
	Repaired // the server, or the GPU, is back in service
	Offered  // the number of servers that the inference pool lends has changed: see Offer and Owed
)

// Event is something that happened since the scheduler was last called.
type Event struct {
	Kind   EventKind
	Job    JobID    // the job, for events about a job
	Server ServerID // the server, for Failed and Repaired
}

// OpKind is the kind of an operation on the cluster.
type OpKind uint8

// The operations.
const (
	OpPlace OpKind = iota
	OpResize
	OpPreempt
	OpMigrate
	OpLoan
	OpReclaim
)

var opNames = [...]string{"place", "resize", "preempt", "migrate", "loan", "reclaim"}

func (k OpKind) String() string { return opNames[k] }

// Op is one operation that a scheduler proposed and the state allowed.
type Op struct {
	Kind   OpKind
	Job    JobID    // for place, resize, preempt and migrate
	Server ServerID // for loan and reclaim
	before job      // the job before the operation
	after  Placement
	gpus   []int32
}

// First reports whether the operation starts a job that has never run before.
func (o *Op) First() bool { return o.Kind == OpPlace && o.before.starts == 0 }

// Before returns the job's placement before the operation, nil if it did not run. Read only; valid until the transaction ends.
func (o *Op) Before() Placement { return o.before.pieces }

// Placement returns the job's placement after the operation, nil for a preemption. Read only; valid until the transaction ends.
func (o *Op) Placement() Placement { return o.after }

// GPUs returns the GPU indices that the operation gives its job, piece after piece. Read only; valid until the
// transaction ends.
func (o *Op) GPUs() []int32 { return o.gpus }

// Txn is a transaction, in which a scheduler builds its proposal. Every operation takes effect on the state at once and can be
// rolled back until the driver ends the transaction. View only reads the state; only the operations below change it.
//
// If the cluster has NoPreemption, Preempt, Migrate and Resize are infeasible for jobs that ran before the transaction. Jobs that
// the transaction itself has started may still be changed, and failures and the inference pool still stop jobs.
type Txn struct {
	*transaction
	view *View
}

// transaction is what a transaction is to all who see it.
type transaction struct {
	s      *State
	events []Event
	ops    []Op
	wake   time.Duration
	woken  bool
	// refused counts operations that the state did not allow.
	refused int
	quiet   bool // the caller does not read why an operation is infeasible
	tries   bool // the caller rolls back: NoPreemption does not matter
}

// Begin opens the state's transaction. events is what the transaction reports to the scheduler; the state keeps the slice until
// End.
func (s *State) Begin(events []Event) *Txn {
	s.txn.events, s.txn.ops, s.txn.woken, s.txn.refused = events, s.txn.ops[:0], false, 0
	return &s.base
}

// Txn returns the open transaction.
func (s *State) Txn() *Txn { return &s.base }

// End closes the transaction; its operations stay in effect.
func (t *Txn) End() {
	for i := range t.ops {
		if b := &t.ops[i].before; b.phase == Running {
			t.s.recycle(b.pieces, b.gpus)
		}
		t.ops[i] = Op{}
	}
	t.ops, t.events, t.woken = t.ops[:0], nil, false
}

// View returns the cluster as the scheduler may see it now, with the effect of all operations so far.
func (t *Txn) View() *View { return t.view }

// Now returns the time of the decision.
func (t *Txn) Now() time.Duration { return t.s.now }

// Events returns the events since the last call of the scheduler: finished jobs before arrived ones, lower ids first. Read only.
func (t *Txn) Events() []Event { return t.events }

// WakeAt asks for a decision point at the given time, even if nothing else happens then. If a transaction asks several times, the
// earliest time counts. WakeAt ignores a time that is not in the future.
func (t *Txn) WakeAt(at time.Duration) {
	if at > t.s.now && (!t.woken || at < t.wake) {
		t.wake, t.woken = at, true
	}
}

// SetWake restores what Wake returned. A caller that only asks a scheduler what it would do uses it to undo the scheduler's
// WakeAt.
func (t *Txn) SetWake(at time.Duration, asked bool) { t.wake, t.woken = at, asked }

// Wake returns the time that WakeAt asked for; ok is false if it was not called.
func (t *Txn) Wake() (at time.Duration, ok bool) { return t.wake, t.woken }

// Ops returns the operations so far, in order. Read only; valid until the transaction ends.
func (t *Txn) Ops() []Op { return t.ops }

// Refused returns the number of operations since Begin that the state did not allow, including those that a search only tried.
func (t *Txn) Refused() int { return t.refused }

// refuse returns the error for an infeasible operation. It formats the error only if the caller reads it.
func (t *Txn) refuse(why func() error) error {
	if t.quiet {
		return ErrInfeasible
	}
	return why()
}

func (t *Txn) count(err error) error {
	if err != nil {
		t.refused++
	}
	return err
}

// Mark returns a mark of the current position in the transaction, for Rollback.
func (t *Txn) Mark() int { return len(t.ops) }

// Rollback undoes all operations since the mark and restores the state exactly.
func (t *Txn) Rollback(mark int) {
	for len(t.ops) > mark {
		last := len(t.ops) - 1
		t.undo(&t.ops[last])
		t.ops[last] = Op{}
		t.ops = t.ops[:last]
	}
}

// Place starts a pending job. It places the whole gang or returns an error that wraps ErrInfeasible. It copies the placement.
func (t *Txn) Place(id JobID, p Placement) error { return t.count(t.start(id, p)) }

func (t *Txn) start(id JobID, p Placement) error {
	if err := t.expect("place", id, Pending); err != nil {
		return err
	}
	if err := t.admit("place", id, p); err != nil {
		return err
	}
	s, j := t.s, &t.s.jobs[id]
	before := *j
	s.delist(&s.pending, j.at)
	s.enlist(&s.running, id)
	s.occupy(id, s.pieceStorage(p), nil)
	j.phase, j.since, j.rate = Running, s.now, 1
	if j.starts++; j.starts == 1 {
		j.first = s.now
	}
	t.record(OpPlace, id, &before)
	return nil
}

// Preempt stops a running job, which is then pending again.
func (t *Txn) Preempt(id JobID) error { return t.count(t.preempt(id)) }

func (t *Txn) preempt(id JobID) error {
	if err := t.mayChange(OpPreempt, id); err != nil {
		return err
	}
	s, j := t.s, &t.s.jobs[id]
	before := *j
	j.done = s.Progress(id)
	s.vacate(id)
	s.delist(&s.running, j.at)
	s.enlist(&s.pending, id)
	j.pieces, j.gpus, j.phase = nil, nil, Pending
	t.record(OpPreempt, id, &before)
	return nil
}

// Migrate moves a running job to another placement with the same number of workers.
func (t *Txn) Migrate(id JobID, p Placement) error {
	return t.count(t.move(OpMigrate, id, p))
}

// Resize changes the number or the amounts of a running job's workers, within its elastic bounds.
func (t *Txn) Resize(id JobID, p Placement) error {
	return t.count(t.move(OpResize, id, p))
}

func (t *Txn) move(kind OpKind, id JobID, p Placement) error {
	if err := t.mayChange(kind, id); err != nil {
		return err
	}
	s, j := t.s, &t.s.jobs[id]
	if w := j.pieces.Workers(); kind == OpMigrate && p.Workers() != w {
		return t.refuse(func() error {
			return fmt.Errorf("migrate job %d: %d workers, want the %d that run: %w", id, p.Workers(), w, ErrInfeasible)
		})
	}
	before := *j
	s.vacate(id)
	if err := t.admit(kind.String(), id, p); err != nil {
		s.occupy(id, before.pieces, before.gpus)
		*j = before
		return err
	}
	s.occupy(id, s.pieceStorage(p), nil)
	j.done = s.progressOf(&before)
	j.since = max(s.now, before.since) // a job that is restarting continues to restart
	if kind == OpMigrate {
		j.moves++
	} else {
		j.resizes++
	}
	t.record(kind, id, &before)
	return nil
}

// record adds an operation that has been carried out.
func (t *Txn) record(kind OpKind, id JobID, before *job) {
	j := &t.s.jobs[id]
	t.ops = append(t.ops, Op{})
	o := &t.ops[len(t.ops)-1] // set in place, as an Op is large
	o.Kind, o.Job, o.before, o.after, o.gpus = kind, id, *before, j.pieces, j.gpus
}

func (t *Txn) undo(o *Op) {
	s := t.s
	switch o.Kind {
	case OpLoan:
		s.lend(o.Server, false)
		return
	case OpReclaim:
		s.lend(o.Server, true)
		return
	}
	j := &s.jobs[o.Job]
	if j.phase == Running {
		s.vacate(o.Job)
		s.recycle(j.pieces, j.gpus)
	}
	switch o.Kind {
	case OpPlace:
		s.running = s.running[:len(s.running)-1]
		s.relist(&s.pending, o.Job, o.before.at)
	case OpPreempt:
		s.pending = s.pending[:len(s.pending)-1]
		s.relist(&s.running, o.Job, o.before.at)
	}
	if o.before.phase == Running {
		s.occupy(o.Job, o.before.pieces, o.before.gpus)
	}
	*j = o.before
}

func (t *Txn) expect(verb string, id JobID, want Phase) error {
	if id < 0 || int(id) >= len(t.s.jobs) {
		return fmt.Errorf("%s job %d: no such job: %w", verb, id, ErrInfeasible)
	}
	if got := t.s.jobs[id].phase; got != want {
		return t.refuse(func() error {
			return fmt.Errorf("%s job %d: it is %v, want %v: %w", verb, id, got, want, ErrInfeasible)
		})
	}
	return nil
}

// mayChange returns an error if the job does not run, or if it ran before the transaction and the cluster forbids preemption.
func (t *Txn) mayChange(kind OpKind, id JobID) error {
	if err := t.expect(kind.String(), id, Running); err != nil || !t.s.forbids || t.tries {
		return err
	}
	for i := range t.ops {
		if o := &t.ops[i]; o.Kind == OpPlace && o.Job == id {
			return nil
		}
	}
	return t.refuse(func() error {
		return fmt.Errorf("%v job %d: it runs, and the cluster forbids preemption: %w", kind, id, ErrInfeasible)
	})
}

// admit returns an error if a placement violates the job's bounds or does not fit into what is free.
func (t *Txn) admit(verb string, id JobID, p Placement) error {
	s, spec := t.s, t.s.jobs[id].spec
	if n := p.Workers(); n < spec.Least() || n > spec.Most() {
		return fmt.Errorf("%s job %d: %d workers, want %d to %d: %w", verb, id, n, spec.Least(), spec.Most(), ErrInfeasible)
	}
	if milli, ok := s.QuotaLeft(id); ok && p.GPUMilli() > milli {
		return t.refuse(func() error {
			return fmt.Errorf("%s job %d: tenant %s has %d thousandths of GPUs left, want %d: %w",
				verb, id, spec.Tenant, milli, p.GPUMilli(), ErrInfeasible)
		})
	}
	s.stampNow++
	kinds := uint16(0)
	for i := range p {
		q := &p[i]
		switch {
		case q.Server < 0 || int(q.Server) >= len(s.servers):
			return fmt.Errorf("%s job %d: no server %d: %w", verb, id, q.Server, ErrInfeasible)
		case s.stamp[q.Server] == s.stampNow:
			return fmt.Errorf("%s job %d: two pieces on server %d: %w", verb, id, q.Server, ErrInfeasible)
		case q.Workers < 1 || q.GPUMilli < 1 || q.GPUMilli > WholeGPU || q.CPUMilli < 0 || q.MemMiB < 0:
			return fmt.Errorf("%s job %d: piece %+v, want workers and amounts in range: %w", verb, id, *q, ErrInfeasible)
		case q.GPUMemMiB < spec.Request.GPUMemMiB:
			return fmt.Errorf("%s job %d: %d MiB on the GPU, want the %d that it needs: %w",
				verb, id, q.GPUMemMiB, spec.Request.GPUMemMiB, ErrInfeasible)
		case q.Workers%spec.Together() != 0:
			return fmt.Errorf("%s job %d: %d workers on server %d, want a multiple of %d: %w",
				verb, id, q.Workers, q.Server, spec.Together(), ErrInfeasible)
		}
		s.stamp[q.Server] = s.stampNow
		v := &s.servers[q.Server]
		if kinds |= v.kind; kinds&(kinds-1) != 0 && !spec.Mixed {
			return fmt.Errorf("%s job %d: GPUs of several types up to server %d (%s), want one type: %w",
				verb, id, q.Server, v.spec.GPUType, ErrInfeasible)
		}
		if fits := s.room(q.Server, &s.jobs[id], q.Amount); fits < q.Workers {
			return t.refuse(func() error { return &shortage{verb, id, *q, fits} })
		}
	}
	return nil
}

// shortage is the most common error; it formats its text only if someone reads it.
type shortage struct {
	verb string
	job  JobID
	want Piece
	fits int32
}

func (e *shortage) Error() string {
	return fmt.Sprintf("%s job %d: server %d takes %d of its workers, want %d: %v",
		e.verb, e.job, e.want.Server, e.fits, e.want.Workers, ErrInfeasible)
}

func (e *shortage) Unwrap() error { return ErrInfeasible }

var phaseNames = [...]string{"unsubmitted", "pending", "running", "done"}

func (p Phase) String() string { return phaseNames[p] }
