package candidates

import (
	"errors"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/placement"
)

// Guard is a base held to what a candidate commits it to: it plays the base and takes back what the commitment forbids. Whenever
// it has, or something was done that the base did not propose, the base is told of the cluster anew.
type Guard struct {
	base cluster.Scheduler
	commitment
	exempt func(*cluster.View, cluster.JobID) bool // of a job that may no longer be held, nil for none
	keep   func(*cluster.Txn, cluster.JobID)       // is told of a job that is held, nil for nobody
	steps  *int                                    // that may still be played, nil for any number
	seed   uint64
	stale  bool             // the base does not know the cluster
	place  placement.Placer // of the gang that a reservation is for

	// Memory that is used again.
	memory memory
	held   []bool // the reservation's block
	told   []cluster.Event
	starts []start
}

// NewGuard returns a base that is to be played on after a candidate. steps, if not nil, counts down the decision points that may
// still be played; ErrSpent then ends the play.
func NewGuard(base cluster.Scheduler, place placement.Placer, steps *int) *Guard {
	return &Guard{base: base, place: place, steps: steps}
}

// Commit holds the base to what the candidate commits it to, and to nothing else.
func (g *Guard) Commit(o *Candidate) {
	g.commit(&o.commitment)
	if o.of != nil {
		g.exempt = o.of.exempt
	}
}

// commit takes a commitment over. It copies what points into the memory of a list.
func (g *Guard) commit(c *commitment) {
	g.commitment = *c
	g.reserve(&c.reservation)
	if len(c.rest) > 0 {
		g.memory.clear()
		g.rest = g.memory.own(c.rest)
	}
}

// reserve takes a reservation over likewise.
func (g *Guard) reserve(r *reservation) {
	g.reservation = *r
	if r.block != nil {
		g.held = append(g.held[:0], r.block...)
		g.block = g.held
	}
}

// commitment is what keeps jobs from starting or from being stopped. The zero value keeps nobody.
type commitment struct {
	at    time.Duration      // the instant at which
	waits []cluster.JobID    // these do not start, and
	stop  bool               // nobody else, or
	done  bool               // the base does no more than
	rest  []cluster.Proposal // this
	reservation
	spared  []cluster.JobID // these are not preempted before
	sparing time.Duration   // this instant
	kept    []cluster.JobID // jobs that this keeps from starting
}

// ErrSpent ends a play that takes too long.
var ErrSpent = errors.New("budget spent")

// retry is the interval after which a job that is held is looked at again where nothing else happens.
const retry = 5 * time.Minute

// Name implements cluster.Scheduler.
func (g *Guard) Name() string { return g.base.Name() }

// Reset implements cluster.Scheduler.
func (g *Guard) Reset(seed uint64) error {
	g.seed, g.stale = seed, false
	g.place.Reset(seed)
	return g.base.Reset(seed)
}

// Schedule implements cluster.Scheduler.
func (g *Guard) Schedule(tx *cluster.Txn) error {
	if g.steps != nil {
		if *g.steps <= 0 {
			return ErrSpent
		}
		*g.steps--
	}
	if g.done && g.at == tx.Now() {
		g.stale = true
		for i := range g.rest {
			_ = tx.Do(&g.rest[i]) // where it fits without what was decided before it
		}
		g.rest = nil
		if len(g.kept) > 0 {
			tx.WakeAt(tx.Now() + retry)
		}
		return nil
	}
	g.rest = nil
	g.memory.clear()
	held := g.at == tx.Now() && (g.stop || len(g.waits) > 0)
	if g.stop && g.at == tx.Now() {
		g.stale = true
		tx.WakeAt(tx.Now() + retry)
		return nil
	}
	if g.block != nil {
		if err := g.release(tx); err != nil {
			return err
		}
		tx.WakeAt(g.until) // nothing without a reservation
	}
	if err := g.introduce(tx); err != nil {
		return err
	}
	mark := tx.Mark()
	if err := g.base.Schedule(tx); err != nil {
		return err
	}
	if g.spare(tx, mark) {
		g.stale = true
		tx.WakeAt(min(tx.Now()+retry, g.sparing))
	}
	if !held && g.block == nil || !g.retract(tx, mark) {
		return nil
	}
	g.stale = true
	tx.WakeAt(tx.Now() + retry)
	return nil
}

// introduce tells the base of the cluster if it does not know it.
func (g *Guard) introduce(tx *cluster.Txn) error {
	if !g.stale {
		return nil
	}
	g.stale = false
	g.told = tx.View().AppendIntroduction(g.told[:0])
	tx.Tell(g.told)
	return g.base.Reset(g.seed)
}

// release gives up the reservation where it has come true or its time is over.
func (g *Guard) release(tx *cluster.Txn) error {
	s := tx.View()
	if s.Phase(g.gang) != cluster.Pending || tx.Now() >= g.until {
		g.reservation = reservation{}
		return nil
	}
	g.place.Reset(g.seed)
	mark := tx.Mark()
	started, err := g.place.Place(tx, g.gang)
	switch {
	case !started:
	case g.scatters(&start{job: g.gang, at: s.Placement(g.gang)}):
		tx.Rollback(mark)
	default:
		g.stale, g.reservation = true, reservation{}
	}
	return err
}

// spare takes a proposal back that preempts a job which is spared, but for its starts that need no preemption.
func (g *Guard) spare(tx *cluster.Txn, mark int) bool {
	if len(g.spared) == 0 {
		return false
	}
	if tx.Now() >= g.sparing {
		g.spared = nil
		return false
	}
	stops := func(o cluster.Op) bool { return o.Kind == cluster.OpPreempt && slices.Contains(g.spared, o.Job) }
	if !slices.ContainsFunc(tx.Ops()[mark:], stops) {
		return false
	}
	all := g.memory.proposals(tx.Ops()[mark:])
	tx.Rollback(mark)
	var kept []cluster.JobID
	for _, p := range startsAlone(all) {
		if tx.Do(&p) != nil { // there is no room without what was preempted
			kept = append(kept, p.Job)
		}
	}
	for _, id := range kept {
		if g.exempt != nil && g.exempt(tx.View(), id) {
			tx.Rollback(mark)
			for i := range all {
				_ = tx.Do(&all[i]) // as it was proposed
			}
			return false
		}
	}
	if g.keep != nil {
		for _, id := range kept {
			g.keep(tx, id)
		}
	}
	return true
}

// startsAlone returns the starts of a proposal but those of jobs that it stops itself.
func startsAlone(ops []cluster.Proposal) []cluster.Proposal {
	var all []cluster.Proposal
	for _, o := range ops {
		if o.Kind == cluster.OpPlace &&
			!slices.ContainsFunc(ops, func(p cluster.Proposal) bool { return p.Kind == cluster.OpPreempt && p.Job == o.Job }) {
			all = append(all, o)
		}
	}
	return all
}

// retract takes back the starts since the mark that the commitment forbids, if there are any. A proposal with anything but
// starts stands.
func (g *Guard) retract(tx *cluster.Txn, mark int) bool {
	var only bool
	if g.starts, only = g.memory.starts(tx, mark, g.starts[:0]); !only {
		return false
	}
	i := slices.IndexFunc(g.starts, func(st start) bool { return g.forbids(tx, &st) })
	if i < 0 {
		return false
	}
	keep := slices.DeleteFunc(g.starts[i:], func(st start) bool {
		held := g.forbids(tx, &st)
		if held && g.keep != nil {
			g.keep(tx, st.job)
		}
		return held
	})
	tx.Rollback(mark + i)
	for _, st := range keep {
		_ = tx.Place(st.job, st.at) // where it fitted with more, but for the odd share of a GPU
	}
	return true
}

func (g *Guard) forbids(tx *cluster.Txn, st *start) bool {
	if g.at == tx.Now() && slices.Contains(g.waits, st.job) {
		return true
	}
	return g.block != nil && (g.scatters(st) || g.obstructs(tx.View(), st)) && (g.exempt == nil || !g.exempt(tx.View(), st.job))
}
