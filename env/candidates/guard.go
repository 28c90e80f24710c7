package candidates

import (
	"errors"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// Guard makes a base keep a candidate's commitment: it plays the base and takes back what the commitment forbids. Whenever it has
// taken something back, or something was done that the base did not propose, it resets the base and introduces it to the present
// state, see cluster.View.Introduce.
type Guard struct {
	base cluster.Scheduler
	commitment
	exempt func(*cluster.View, cluster.JobID) bool // whether a job was held back for too long already; nil: no job ever is
	keep   func(*cluster.Txn, cluster.JobID)       // called for each job that the guard keeps from starting; may be nil
	steps  *int                                    // how many decision points may still be played; nil for any number
	seed   uint64
	stale  bool             // the base does not know the present state of the cluster
	place  placement.Placer // for the gang of a reservation

	// Memory that is reused.
	memory memory
	owned  [2]owned // of reservations, in turn
	turn   int      // which of them contains the present ones
	told   []cluster.Event
	starts []start
}

// NewGuard returns a guard that plays the base on after a candidate, see Commit. steps, if not nil, is the number of decision
// points that may still be played. The guard counts it down, and Schedule returns ErrSpent when none is left.
func NewGuard(base cluster.Scheduler, place placement.Placer, steps *int) *Guard {
	return &Guard{base: base, place: place, steps: steps}
}

// Commit makes the base keep the candidate's commitment, in place of any earlier one.
func (g *Guard) Commit(o *Candidate) {
	g.commit(&o.commitment)
	if o.of != nil {
		g.exempt = o.of.exempt
	}
}

// commit sets the commitment. It copies what points into the memory of a list.
func (g *Guard) commit(c *commitment) {
	g.commitment = *c
	g.own(c.holds, nil)
	if len(c.rest) > 0 {
		g.memory.clear()
		g.rest = g.memory.own(c.rest)
	}
}

// own sets the reservations to copies of holds and, if it is not nil, of one more. holds may be those that the guard has now.
func (g *Guard) own(holds []reservation, more *reservation) {
	g.turn = 1 - g.turn // the other memory holds the present ones
	to := &g.owned[g.turn]
	to.holds, to.blocks = to.holds[:0], to.blocks[:0]
	to.add(holds...)
	if more != nil {
		to.add(*more)
	}
	g.holds = to.holds
}

// owned is memory for reservations.
type owned struct {
	holds  []reservation
	blocks []bool
}

// add appends copies of reservations.
func (o *owned) add(all ...reservation) {
	for _, r := range all {
		from := len(o.blocks)
		o.blocks = append(o.blocks, r.block...)
		r.block = o.blocks[from:len(o.blocks):len(o.blocks)]
		o.holds = append(o.holds, r)
	}
}

// commitment is what keeps jobs from starting or from being preempted. The zero value does neither.
type commitment struct {
	at      time.Duration      // the instant to which waits, stop, done and rest apply
	waits   []cluster.JobID    // jobs that do not start then
	stop    bool               // no job starts then
	done    bool               // the base does nothing more then, except rest
	rest    []cluster.Proposal // the remaining operations of the base's proposal
	holds   []reservation      // of disjoint sets of servers, for different gangs
	spared  []cluster.JobID    // jobs that are not preempted before sparing
	sparing time.Duration      // the time at which spared ends
	kept    []cluster.JobID    // jobs that cannot start because others are spared
}

// ErrSpent is the error of a guard that has played the allowed number of decision points.
var ErrSpent = errors.New("budget spent")

// retry is the retry interval: a job that is kept from starting is reviewed again after it, even if nothing else happens.
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
			_ = tx.Do(&g.rest[i]) // it may no longer fit after what was decided before it
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
	if err := g.release(tx); err != nil {
		return err
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
	if !held && len(g.holds) == 0 || !g.retract(tx, mark) {
		return nil
	}
	g.stale = true
	tx.WakeAt(tx.Now() + retry)
	return nil
}

// introduce resets the base and introduces it to the cluster, if it does not know the present state.
func (g *Guard) introduce(tx *cluster.Txn) error {
	if !g.stale {
		return nil
	}
	g.stale = false
	g.told = tx.View().AppendIntroduction(g.told[:0])
	tx.Tell(g.told)
	return g.base.Reset(g.seed)
}

// release ends each reservation whose gang has left the queue or can start now, or whose time is over. It starts the gang if that
// keeps the other reservations. It asks for a decision point at the end of those that remain.
func (g *Guard) release(tx *cluster.Txn) error {
	s := tx.View()
	for i := 0; i < len(g.holds); {
		r := &g.holds[i]
		over := s.Phase(r.gang) != cluster.Pending || tx.Now() >= r.until
		if !over {
			g.place.Reset(g.seed)
			mark := tx.Mark()
			started, err := g.place.Place(tx, r.gang)
			if err != nil {
				return err
			}
			if over = started && !g.breaks(s, &start{job: r.gang, at: s.Placement(r.gang)}); over {
				g.stale = true
			} else {
				tx.Rollback(mark)
			}
		}
		if over {
			g.holds = slices.Delete(g.holds, i, i+1)
			continue
		}
		tx.WakeAt(r.until)
		i++
	}
	return nil
}

// breaks reports whether a start breaks one of the reservations.
func (g *Guard) breaks(s *cluster.View, st *start) bool {
	return slices.ContainsFunc(g.holds, func(r reservation) bool { return r.scatters(st) || r.obstructs(s, st) })
}

// spare takes back a proposal that preempts a spared job and repeats only the starts for which there is still room. It reports
// whether it did. It leaves the proposal in effect if a job has been kept from starting for too long.
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
		if tx.Do(&p) != nil { // no room without the preemption
			kept = append(kept, p.Job)
		}
	}
	for _, id := range kept {
		if g.exempt != nil && g.exempt(tx.View(), id) {
			tx.Rollback(mark)
			for i := range all {
				_ = tx.Do(&all[i]) // as the base proposed it
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

// startsAlone returns the starts in a proposal, except those of jobs that the proposal itself stops.
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

// retract takes back the starts after the mark that the commitment forbids, and reports whether there were any. It does not
// change a proposal that contains other operations.
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
		_ = tx.Place(st.job, st.at) // it fitted when more jobs were placed; only a share of a GPU may fail to fit now
	}
	return true
}

func (g *Guard) forbids(tx *cluster.Txn, st *start) bool {
	if g.at == tx.Now() && slices.Contains(g.waits, st.job) {
		return true
	}
	return g.breaks(tx.View(), st) && (g.exempt == nil || !g.exempt(tx.View(), st.job))
}
