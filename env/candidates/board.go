package candidates

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// board steps through a decision with a wide list. It shows one list for the whole instant: the base's proposal as a whole and in
// parts, the proposals of rivals, and what the board itself finds for the first jobs of several queue orders and for running
// jobs.
//
// A candidate that is carried out leaves the list, and one that no longer fits loses its members. The list closes when the base's
// own candidate is taken, when all agents pass or when no candidate is left. If something was done that the base did not propose,
// the board then introduces the base to the new state and asks it again; otherwise the decision is over. For a Scheduler, the
// list also closes as soon as something was done that the base did not propose. A judge that always takes the first candidate
// reproduces the base. Not safe for concurrent use.
type board struct {
	walk     *walk // the base with its commitments, and the searches for placements
	rivals   []rival
	departed bool            // a candidate was carried out that the base did not propose or that blocks its proposal
	parts    int             // number of the base's operations that were carried out singly
	wake     wake            // the wake-up that the base asked for
	proposed int             // number of elements of made that the base or a rival proposed
	tune     *placement.Tune // finds the amounts of CPU and memory that matter
	measured int             // number of elastic jobs whose knee was searched for

	// Memory that is reused.
	made    []Candidate
	jobs    []cluster.JobID
	best    []ranked
	fits    []bool // parallel to jobs: whether the job could start now
	events  []cluster.Event
	refused []int
	beside  []reservation // those that exist and those that are on the list
	racks   []rack        // by room, after a first element that stands for no rack; empty until they are counted
	order   []int         // indices into made, in the order of the list
	turns   []int         // parallel to made: how many candidates of its kind came before it for the same job
}

// rival is another scheduler whose proposals become candidates.
type rival struct {
	name string
	base cluster.Scheduler
}

// wake is a wake-up that a scheduler asked for.
type wake struct {
	at    time.Duration
	asked bool
}

// newBoard returns a board. Call Reset before the first Begin.
func newBoard(c Config) *board {
	b := &board{walk: newWalk(c), tune: placement.NewTune(placement.DefaultTune())}
	for _, r := range c.Rivals {
		b.rivals = append(b.rivals, rival{r.Name, r.New()})
	}
	return b
}

// Reset implements Source.
func (b *board) Reset(seed uint64) error {
	b.tune.Reset(seed)
	return b.walk.Reset(seed)
}

// Tally implements Source.
func (b *board) Tally() [Kinds]int { return b.walk.tally }

// List implements Source.
func (b *board) List() []Candidate { return b.walk.list }

// Lists implements Source.
func (b *board) Lists() int { return b.walk.lists }

// Begin implements Source.
func (b *board) Begin(tx *cluster.Txn) error {
	b.walk.start(tx)
	return b.propose()
}

// propose asks the base and the rivals for their proposals, and finds the list.
func (b *board) propose() error {
	w, tx := b.walk, b.walk.tx
	b.departed, b.parts = false, 0
	w.memory.clear()
	before := wakeOf(tx)
	mark := tx.Mark()
	if err := w.front.Schedule(tx); err != nil {
		return err
	}
	b.wake = wakeOf(tx)
	plan, only := w.memory.starts(tx, mark, w.plan[:0])
	if !only {
		plan = plan[:0]
	}
	w.plan, w.whole, w.at = plan, !only, 0
	w.ops = w.memory.proposals(tx.Ops()[mark:])
	if !w.mayShow() {
		return b.end()
	}
	tx.Rollback(mark)
	before.restore(tx)
	own := Candidate{Job: -1, Ops: w.ops, commitment: w.front.commitment}
	own.done = true
	b.made = b.made[:0]
	b.single()
	if err := b.ask(); err != nil {
		return err
	}
	b.proposed, b.measured = len(b.made), 0
	if err := b.find(); err != nil {
		return err
	}
	b.show(own)
	if len(w.list) > 1 {
		w.lists++
		return nil
	}
	if err := own.Apply(tx); err != nil {
		return err
	}
	return b.end()
}

// end closes the decision. It keeps the wake-up that the base asked for, whatever was carried out.
func (b *board) end() error {
	if b.wake.asked {
		b.walk.tx.WakeAt(b.wake.at)
	}
	return b.walk.end()
}

// single adds each operation of the base's proposal as a candidate of its own.
func (b *board) single() {
	w := b.walk
	if w.whole || len(w.ops) < 2 {
		return // the whole is its only part
	}
	for i := range w.ops[:min(len(w.ops), parts)] {
		b.add(Part, w.ops[i].Job, w.ops[i:i+1])
	}
}

// ask adds each rival's proposal, and the first start of it. A rival sees the cluster as in a snapshot, without history. The
// board drops the wake-up that a rival asks for: if the proposal is carried out, the rival is asked again anyway.
func (b *board) ask() error {
	w, tx := b.walk, b.walk.tx
	events := tx.Events()
	for _, r := range b.rivals {
		before, mark := wakeOf(tx), tx.Mark()
		if err := r.base.Reset(w.seed); err != nil {
			return err
		}
		b.events = tx.View().AppendIntroduction(b.events[:0])
		tx.Tell(b.events)
		if err := r.base.Schedule(tx); err != nil {
			return err
		}
		ops := w.memory.proposals(tx.Ops()[mark:])
		tx.Rollback(mark)
		before.restore(tx)
		tx.Tell(events)
		if len(ops) == 0 {
			continue
		}
		b.addRival(r.name, ops)
		if len(ops) > 1 && ops[0].Kind == cluster.OpPlace {
			b.addRival(r.name, ops[:1])
		}
	}
	return nil
}

// addRival adds a rival's proposal. If another rival proposed the same, the list will show that proposal, so it gets this rival's
// name, too.
func (b *board) addRival(name string, ops []cluster.Proposal) {
	for i := range b.made {
		if c := &b.made[i]; c.Kind == Rival && same(c.Ops, ops) {
			if c.By != name && !slices.Contains(c.Also, name) {
				c.Also = b.walk.memory.named(c.Also, name)
			}
			break
		}
	}
	b.add(Rival, about(ops), ops)
	b.made[len(b.made)-1].By = name
}

// about returns the job of the first operation that has one, -1 if none has: those that lend and return servers have none.
func about(ops []cluster.Proposal) cluster.JobID {
	for i := range ops {
		if k := ops[i].Kind; k != cluster.OpLoan && k != cluster.OpReclaim {
			return ops[i].Job
		}
	}
	return -1
}

// add adds a candidate that commits the base to nothing new.
func (b *board) add(kind Kind, id cluster.JobID, ops []cluster.Proposal) {
	b.made = append(b.made, Candidate{Kind: kind, Job: id, Ops: ops, commitment: b.walk.front.commitment})
}

// start adds a candidate that starts a job with the given placement.
func (b *board) start(kind Kind, id cluster.JobID, at cluster.Placement) {
	b.add(kind, id, b.walk.memory.list(cluster.Proposal{Kind: cluster.OpPlace, Job: id, Placement: at}))
}

// TakeAll implements Source. Taking the base's own candidate closes the list.
func (b *board) TakeAll(places []int) (refused []int, err error) {
	w := b.walk
	b.refused = b.refused[:0]
	for n, i := range places {
		c := &w.list[i]
		if i > 0 && b.forbidden(c) || !c.do(w.tx) {
			b.refused = append(b.refused, i)
			continue
		}
		w.tally[c.Kind]++
		c.Gone = true
		if i == 0 {
			b.refused = append(b.refused, places[n+1:]...)
			return b.refused, b.close()
		}
		if c.Kind == Part {
			b.parts++
		} else {
			b.departed, w.front.stale = true, true
		}
		switch c.Kind {
		case Reserve, Gather:
			w.front.own(w.front.holds, &c.holds[len(c.holds)-1])
		case Drop:
			w.front.holds = nil
		}
	}
	return b.refused, b.again()
}

// again updates the list after candidates were carried out. It closes the list if nothing is left or, for a Scheduler, if
// something was done that the base did not propose.
func (b *board) again() error {
	w := b.walk
	w.coalitions.clear(w.tx.View().Servers())
	left := false
	for i := range w.list {
		c := &w.list[i]
		if i == 0 {
			if c.Ops = b.rest(); b.parts+len(c.Ops) < len(w.ops) {
				b.departed, w.front.stale = true, true
			}
		}
		if c.Gone = c.Gone || b.forbidden(c) || !w.try(c); c.Gone {
			c.Members = nil
		}
		left = left || len(c.Members) > 0
	}
	if left && !(b.departed && w.single) {
		return nil
	}
	return b.close()
}

// rest returns the operations of the base's proposal that still fit, in their order.
func (b *board) rest() []cluster.Proposal {
	w, m := b.walk, &b.walk.memory
	mark, from := w.tx.Mark(), len(m.ops)
	for i := range w.ops {
		if w.tx.Try(&w.ops[i]) {
			m.ops = append(m.ops, w.ops[i])
		} else if w.whole {
			m.ops = m.ops[:from]
			break // a proposal with other operations than starts is all or nothing
		}
	}
	w.tx.Rollback(mark)
	return m.ops[from:len(m.ops):len(m.ops)]
}

// close ends the list. If something was done that the base did not propose, it asks the base again.
func (b *board) close() error {
	if b.departed {
		return b.propose()
	}
	return b.end()
}

// Pass implements Source.
func (b *board) Pass() error {
	if !b.departed {
		b.walk.pass(b.walk.list[0].Ops)
	}
	return b.close()
}

func wakeOf(tx *cluster.Txn) wake {
	at, asked := tx.Wake()
	return wake{at, asked}
}

func (w wake) restore(tx *cluster.Txn) { tx.SetWake(w.at, w.asked) }
