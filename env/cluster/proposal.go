package cluster

import (
	"fmt"
	"slices"
)

// Proposal is an operation that can be done again, in another transaction or on a copy of the state.
type Proposal struct {
	Kind      OpKind
	Job       JobID     // of place, resize, preempt and migrate
	Server    ServerID  // of loan and reclaim
	Placement Placement // of place, resize and migrate
}

// Proposal returns what was proposed. It owns its placement.
func (o *Op) Proposal() Proposal { return Proposal{o.Kind, o.Job, o.Server, slices.Clone(o.after)} }

// Do proposes an operation again. The placement is copied.
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

// Try is Do for searches, which do not ask why the state refuses an operation: it only reports whether it is allowed. It
// allocates nothing for a refusal for want of room, by a quota, by what is on loan or by where the job stands now.
func (t *Txn) Try(p *Proposal) bool {
	t.quiet = true
	err := t.Do(p)
	t.quiet = false
	return err == nil
}
