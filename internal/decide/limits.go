package decide

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// Limits bound what proposals may do to a cluster, whoever made them. The zero value lets nothing be stopped.
type Limits struct {
	// Stops is how many running jobs may be stopped or moved to other servers. Apply uses it up.
	Stops int
	// Protected tells the running jobs that are not to be stopped, moved or shrunk; nil for none.
	Protected func(cluster.JobID) bool
	// Starving are the waiting jobs that go before all others, first come, first served. While one of them does not fit, nothing
	// else takes GPUs but what leaves the time at which it could start, as estimates tell it, as it is.
	Starving []cluster.JobID
}

// Held is a proposal that was not carried out, and why.
type Held struct {
	cluster.Proposal
	Reason string
}

// Why a proposal was held.
const (
	HeldStops     = "stops"     // as many jobs were stopped as may be
	HeldProtected = "protected" // the job is not to be stopped, moved or shrunk
	HeldStarving  = "starving"  // a starving job would wait for longer
	HeldNoRoom    = "no-room"   // it needs what another one, which was held, would have freed
)

// Rescue starts, in an open transaction, the starving jobs that fit, and returns the first that does not. Jobs after that one
// are left to the policy.
func (l *Limits) Rescue(tx *cluster.Txn) (waits cluster.JobID, ok bool) {
	s := tx.State()
	for _, id := range l.Starving {
		if s.Phase(id) != cluster.Pending {
			continue
		}
		p, fits := s.BestFit(id, nil)
		if !fits {
			return id, true
		}
		if err := tx.Place(id, p); err != nil {
			panic(fmt.Sprintf("decide: best fit of job %d: %v", id, err)) // it is feasible by its contract
		}
	}
	return 0, false
}

// Apply carries out proposals in an open transaction, in order, as far as the limits let it. The starving job, if there is one,
// is that of Rescue in the same transaction. A job that cannot start where it was proposed, as what was held would have made room
// there, starts by best fit if it can: the policy wants it started, and would say so again.
func (l *Limits) Apply(tx *cluster.Txn, proposals []cluster.Proposal, starving cluster.JobID, waits bool) (held []Held) {
	for i := range proposals {
		p := &proposals[i]
		mark := tx.Mark()
		reason := l.forbids(tx, p)
		if reason == "" {
			reason = do(tx, p, starving, waits)
		}
		if reason == HeldNoRoom && p.Kind == cluster.OpPlace && tx.State().Phase(p.Job) == cluster.Pending {
			if at, fits := tx.State().BestFit(p.Job, nil); fits {
				reason = do(tx, &cluster.Proposal{Kind: cluster.OpPlace, Job: p.Job, Placement: at}, starving, waits)
			}
		}
		if reason != "" {
			held = append(held, Held{*p, reason})
			continue
		}
		if stopped(tx, mark) {
			l.Stops--
		}
	}
	return held
}

// do carries out a proposal, or returns why not.
func do(tx *cluster.Txn, p *cluster.Proposal, starving cluster.JobID, waits bool) (reason string) {
	mark := tx.Mark()
	switch {
	case waits && takes(p) && p.Job != starving:
		reason = delays(tx, p, starving)
	case tx.Do(p) != nil:
		reason = HeldNoRoom
	}
	if reason != "" {
		tx.Rollback(mark)
	}
	return reason
}

// forbids returns why a proposal about a running job is not to be carried out, "" if it is.
func (l *Limits) forbids(tx *cluster.Txn, p *cluster.Proposal) string {
	s := tx.State()
	switch p.Kind {
	case cluster.OpPreempt, cluster.OpMigrate, cluster.OpResize:
	default:
		return ""
	}
	was := s.Placement(p.Job)
	if s.Phase(p.Job) != cluster.Running {
		return HeldNoRoom
	}
	if grown := p.Kind == cluster.OpResize && Within(was, p.Placement); grown {
		return ""
	}
	if l.Protected != nil && l.Protected(p.Job) {
		return HeldProtected
	}
	if l.Stops <= 0 && (p.Kind != cluster.OpResize || Stops(was, p.Placement)) {
		return HeldStops
	}
	return ""
}

// takes reports whether the operation may take GPUs.
func takes(p *cluster.Proposal) bool {
	return p.Kind == cluster.OpPlace || p.Kind == cluster.OpResize || p.Kind == cluster.OpMigrate
}

// delays does a proposal and reports why not, if that is so: a starving job would start later. The caller takes it back.
func delays(tx *cluster.Txn, p *cluster.Proposal, starving cluster.JobID) string {
	var shadow cluster.Shadow
	s := tx.State()
	before, held := shadow.Wait(s, starving), s.Placement(p.Job).GPUMilli()
	if tx.Do(p) != nil {
		return HeldNoRoom
	}
	if s.Placement(p.Job).GPUMilli() <= held {
		return ""
	}
	// 0 is a time that estimates do not tell, or GPUs that are free but apart, of which anything may be in the way.
	if after := shadow.Wait(s, starving); after == 0 || after > before {
		return HeldStarving
	}
	return ""
}

// stopped reports whether the operation after the mark stops a job or moves one of its workers.
func stopped(tx *cluster.Txn, mark int) bool {
	o := &tx.Ops()[mark]
	return o.Kind == cluster.OpPreempt || o.Kind == cluster.OpMigrate ||
		o.Kind == cluster.OpResize && Stops(o.Before(), o.Placement())
}

// Stops reports whether a running job that goes from one placement to another, nil for none, has to stop for it: it neither only
// starts nor only ends workers.
func Stops(was, is cluster.Placement) bool {
	return len(is) == 0 || !Within(was, is) && !Within(is, was)
}

// Within reports whether b has as many workers as a, or more, on every server where a has some, each with the same amounts: going
// from one to the other only starts or only ends workers.
func Within(a, b cluster.Placement) bool {
	for _, p := range a {
		at := slices.IndexFunc(b, func(q cluster.Piece) bool { return q.Server == p.Server })
		if at < 0 || b[at].Workers < p.Workers || b[at].Amount != p.Amount {
			return false
		}
	}
	return true
}
