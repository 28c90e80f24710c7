package decide

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// Limits limit what proposals of any policy may do to a cluster. The zero value allows no stops.
type Limits struct {
	// Stops is how many running jobs may be stopped or moved to other servers. Apply subtracts those it stops or moves.
	Stops int
	// Protected reports whether a running job must not be stopped, moved or shrunk; nil for none.
	Protected func(cluster.JobID) bool
	// Yields reports whether a running job may be stopped, moved or shrunk so that another job gets its GPUs; nil if it always may.
	Yields func(running, other cluster.JobID) bool
	// Starving lists the waiting jobs that go before all others, first come, first served. While one of them does not fit, another
	// job may take GPUs of the servers that the starving job may use only if that does not delay the starving job's start. Each must
	// be able to start there if nothing ran; Limits does not check this.
	Starving []cluster.JobID
	// Holds reports whether a job in Starving may hold others back; nil if all may.
	Holds func(cluster.JobID) bool
	// Amounts returns bounds on what a worker of the job may hold on a server: what a proposal gives beyond them is cut. If it is
	// not nil, what running jobs hold can change in place, so that such a change is no stop. A job in Protected never gets less.
	Amounts func(cluster.JobID, cluster.ServerID) (least, most cluster.Amount)
}

// Held is a proposal that was not carried out, with the reason.
type Held struct {
	cluster.Proposal
	Reason string
	For    cluster.JobID // the starving job, if Reason is HeldStarving
}

// Why a proposal was not carried out.
const (
	HeldStops     = "stops"     // the limit on stops is used up
	HeldProtected = "protected" // the job must not be stopped, moved or shrunk
	HeldStarving  = "starving"  // a starving job would wait longer
	HeldNoRoom    = "no-room"   // it needs GPUs that another proposal, which was held, would have freed
)

// Rescue starts, in an open transaction, the starving jobs that fit and delay no starving job before them. It returns the jobs
// that wait and hold others back, and the starts of starving jobs that were held for them. No two jobs that hold others back may
// use a common server: the first in the queue goes first. Rescue starts an elastic job with fewer workers than it asks for if it
// does not fit otherwise.
func (l *Limits) Rescue(tx *cluster.Txn) (holding []cluster.JobID, held []Held) {
	s := tx.View()
	var waiters []*waiter
	for _, id := range l.Starving {
		if s.Phase(id) != cluster.Pending {
			continue
		}
		if p, fits := fit(s, id); fits {
			start := cluster.Proposal{Kind: cluster.OpPlace, Job: id, Placement: p}
			if reason, by := do(tx, &start, waiters); reason != "" {
				held = append(held, Held{start, reason, by})
			}
			continue
		}
		shares := slices.ContainsFunc(waiters, func(w *waiter) bool { return share(s, w.id, id) })
		if !shares && (l.Holds == nil || l.Holds(id)) {
			waiters, holding = append(waiters, &waiter{id: id}), append(holding, id)
		}
	}
	return holding, held
}

// fit returns where a waiting job could start now: with as many workers as it asks for, or, if it is elastic, with as many as
// fit.
func fit(s *cluster.View, id cluster.JobID) (cluster.Placement, bool) {
	p, fits := s.BestFit(id, nil)
	spec := s.Spec(id)
	if fits || spec.Least() == spec.Workers {
		return p, fits
	}
	n := min(s.Room(id, spec.Request, make([]int32, s.Servers())), int64(spec.Workers))
	if n < int64(spec.Least()) {
		return nil, false
	}
	return s.BestFitAlone(id, int32(n), spec.Request, nil)
}

// share reports whether there is a server that both jobs may use.
func share(s *cluster.View, a, b cluster.JobID) bool {
	for i := range s.Servers() {
		if id := cluster.ServerID(i); s.MayUse(a, id) && s.MayUse(b, id) {
			return true
		}
	}
	return false
}

// Apply carries out proposals in an open transaction, in order, as far as the limits allow. The parameter holding lists the jobs
// that hold others back, as Rescue returned them for the same state. If a job cannot start where proposed, because a held
// proposal would have made the room, Apply starts it by best fit if it can: the policy wants it started, and would propose that
// again.
func (l *Limits) Apply(tx *cluster.Txn, proposals []cluster.Proposal, holding []cluster.JobID) (held []Held) {
	if l.Yields == nil {
		return l.apply(tx, proposals, holding)
	}
	mark, stops, protected := tx.Mark(), l.Stops, l.Protected
	defer func() { l.Protected = protected }()
	before := usageOf(tx.View())
	for kept := map[cluster.JobID]bool{}; ; tx.Rollback(mark) {
		l.Stops, l.Protected = stops, func(id cluster.JobID) bool { return kept[id] || protected != nil && protected(id) }
		held = l.apply(tx, proposals, holding)
		robbed := before.robbed(tx.View(), l.Yields)
		if len(robbed) == 0 {
			return held
		}
		for _, id := range robbed {
			kept[id] = true
		}
	}
}

func (l *Limits) apply(tx *cluster.Txn, proposals []cluster.Proposal, holding []cluster.JobID) (held []Held) {
	waiters := make([]*waiter, len(holding))
	for i, id := range holding {
		waiters[i] = &waiter{id: id}
	}
	for i := range proposals {
		p := l.cut(&proposals[i])
		mark := tx.Mark()
		reason, by := l.forbids(tx, p), cluster.JobID(0)
		if reason == "" {
			reason, by = do(tx, p, waiters)
		}
		if reason == HeldNoRoom && p.Kind == cluster.OpPlace && tx.View().Phase(p.Job) == cluster.Pending {
			if at, fits := tx.View().BestFit(p.Job, nil); fits {
				reason, by = do(tx, &cluster.Proposal{Kind: cluster.OpPlace, Job: p.Job, Placement: at}, waiters)
			}
		}
		if reason != "" {
			held = append(held, Held{*p, reason, by})
			continue
		}
		if l.stopped(tx, mark) {
			l.Stops--
		}
	}
	return held
}

// do carries out a proposal, or returns why not and which starving job is the reason.
func do(tx *cluster.Txn, p *cluster.Proposal, waiters []*waiter) (reason string, by cluster.JobID) {
	s, mark := tx.View(), tx.Mark()
	minds := func(w *waiter) bool { return takes(p) && p.Job != w.id && w.minds(s, p.Job, p.Placement) }
	for _, w := range waiters {
		if s.Phase(w.id) == cluster.Pending && minds(w) && !w.known {
			w.now, w.known = w.look(s), true
		}
	}
	if tx.Do(p) != nil {
		return HeldNoRoom, 0
	}
	for i, w := range waiters {
		switch {
		case s.Phase(w.id) != cluster.Pending:
		case minds(w):
			after := w.look(s)
			if after.worse(w.now) {
				tx.Rollback(mark)
				for _, w := range waiters[:i] {
					w.known = false
				}
				return HeldStarving, w.id
			}
			w.now = after
		case p.Kind != cluster.OpPlace: // it may have freed servers
			w.known = false
		}
	}
	return "", 0
}

// forbids returns why a proposal about a running job must not be carried out, or "" if it may.
func (l *Limits) forbids(tx *cluster.Txn, p *cluster.Proposal) string {
	s := tx.View()
	switch p.Kind {
	case cluster.OpPreempt, cluster.OpMigrate, cluster.OpResize:
	default:
		return ""
	}
	was := s.Placement(p.Job)
	if s.Phase(p.Job) != cluster.Running {
		return HeldNoRoom
	}
	is := l.moved(p.Kind, was, p.Placement)
	if grown := p.Kind == cluster.OpResize && Within(was, is); grown && !less(was, p.Placement) {
		return ""
	}
	if l.Protected != nil && l.Protected(p.Job) {
		return HeldProtected
	}
	if l.Stops <= 0 && (p.Kind != cluster.OpResize || Stops(was, is)) {
		return HeldStops
	}
	return ""
}

// moved returns where the workers of a job are after an operation. If amounts may differ from the request, a resize can also
// change those of workers that stay: they have the amounts from before in the result.
func (l *Limits) moved(kind cluster.OpKind, was, is cluster.Placement) cluster.Placement {
	if l.Amounts == nil || kind != cluster.OpResize {
		return is
	}
	return Reshape(was, is)
}

// takes reports whether the operation may take GPUs.
func takes(p *cluster.Proposal) bool {
	return p.Kind == cluster.OpPlace || p.Kind == cluster.OpResize || p.Kind == cluster.OpMigrate
}

// stopped reports whether the operation after the mark stops a job or moves one of its workers.
func (l *Limits) stopped(tx *cluster.Txn, mark int) bool {
	o := &tx.Ops()[mark]
	is := l.moved(o.Kind, o.Before(), o.Placement())
	return o.Kind == cluster.OpPreempt || o.Kind == cluster.OpMigrate || o.Kind == cluster.OpResize && Stops(o.Before(), is)
}

// Stops reports whether a running job has to stop to change from one placement to another (nil for none): that is so unless the
// change only starts workers or only ends workers.
func Stops(was, is cluster.Placement) bool {
	return len(is) == 0 || !Within(was, is) && !Within(is, was)
}

// Within reports whether placement b has, on every server of placement a, at least as many workers as a, with the same amounts.
// Then a change from a to b only starts workers, and a change from b to a only ends workers.
func Within(a, b cluster.Placement) bool {
	for _, p := range a {
		at := onServer(b, p.Server)
		if at < 0 || b[at].Workers < p.Workers || b[at].Amount != p.Amount {
			return false
		}
	}
	return true
}
