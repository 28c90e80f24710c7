package cluster

import (
	"fmt"
	"slices"
)

// Proposal is an operation that can be repeated in another transaction or on a copy of the state.
type Proposal struct {
	Kind      OpKind
	Job       JobID     // of place, resize, preempt and migrate
	Server    ServerID  // of loan and reclaim
	Placement Placement // of place, resize and migrate
}

// Proposal returns the operation as a Proposal, which owns its placement.
func (o *Op) Proposal() Proposal { return Proposal{o.Kind, o.Job, o.Server, slices.Clone(o.after)} }

// Do carries out the proposed operation in this transaction. It copies the placement.
func (t *Txn) Do(p *Proposal) error {
	switch p.Kind {
	case OpPlace:
		return t.Place(p.Job, p.Placement)
	case OpResize:
		return t.Resize(p.Job, p.Placement)
	case OpPreempt:
		return t.Preempt(p.Job)
	case OpMigrate:
		return t.Migrate(p.Job, p.Placement)
	case OpLoan:
		return t.Loan(p.Server)
	case OpReclaim:
		return t.Reclaim(p.Server)
	}
	panic(fmt.Sprintf("cluster: no operation %d", p.Kind))
}

// Suppose is Do for a search that asks how fast jobs would run, and then rolls back: it stops, moves and resizes jobs also if the
// cluster forbids preemption.
func (t *Txn) Suppose(p *Proposal) error {
	t.tries = true
	err := t.Do(p)
	t.tries = false
	return err
}

// Try is Do for searches that do not need to know why an operation is infeasible: it only reports whether the state allowed it.
// It allocates nothing if the operation fails for lack of room, because of a quota or a loan limit, or because of the job's
// phase.
func (t *Txn) Try(p *Proposal) bool {
	t.quiet = true
	err := t.Do(p)
	t.quiet = false
	return err == nil
}
