package candidates

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/placement"
)

// board shows one wide list at a decision point, which stays for the instant: what the base proposes as a whole and in parts,
// what rivals propose, and what the board itself finds for the first jobs of several orders and for running jobs. What is carried
// out leaves the list, and what no longer fits loses its members. When the base's own is taken, all pass or nothing is left, the
// base is told of what was done that it did not propose, and asked again; when it was told already, the decision is over. Who
// always takes the first candidate leaves the base as it is. Not safe for concurrent use.
type board struct {
	walk     *walk // the base with its holds, and the searches for placements
	rivals   []rival
	departed bool            // something was carried out that the base did not propose, or in an order in which not all of its fits
	parts    int             // of the base's proposal that were carried out singly
	wake     wake            // that the base asked for
	proposed int             // how many of what was made somebody proposed
	tune     *placement.Tune // knows which amounts matter
	measured int             // elastic jobs of which the knee was looked for

	// Memory that is used again.
	made    []Candidate
	jobs    []cluster.JobID
	best    []ranked
	fits    []bool // by place in jobs: it could start now
	events  []cluster.Event
	refused []int
	racks   []rack // by room, after one that stands for none; empty before they are counted
	order   []int  // of what was made
	turns   []int  // what was made of its kind for the job before
}

// rival is another scheduler and what it is asked by.
type rival struct {
	name string
	base cluster.Scheduler
}

// wake is an instant that a scheduler asked for.
type wake struct {
	at    time.Duration
	asked bool
}

// newBoard returns a board before its first Reset.
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

// Begin implements Source.
func (b *board) Begin(tx *cluster.Txn) error {
	b.walk.start(tx)
	return b.propose()
}

// propose asks the base and the rivals, and finds the list.
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

// end closes the decision. What the base asked to be woken for counts whatever was done.
func (b *board) end() error {
	if b.wake.asked {
		b.walk.tx.WakeAt(b.wake.at)
	}
	return b.walk.end()
}

// single adds the parts of the base's proposal.
func (b *board) single() {
	w := b.walk
	if w.whole || len(w.ops) < 2 {
		return // the whole is its only part
	}
	for i := range w.ops[:min(len(w.ops), parts)] {
		b.add(Part, w.ops[i].Job, w.ops[i:i+1])
	}
}

// ask adds what rivals propose, and the first start of each. They are told of the cluster anew, as of a snapshot. What they ask
// to be woken for counts only if their proposal is carried out, and then they are asked again anyway.
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
		b.add(Rival, ops[0].Job, ops)
		b.made[len(b.made)-1].By = r.name
		if len(ops) > 1 && ops[0].Kind == cluster.OpPlace {
			b.add(Rival, ops[0].Job, ops[:1])
			b.made[len(b.made)-1].By = r.name
		}
	}
	return nil
}

// add makes a candidate that binds nobody afterwards.
func (b *board) add(kind Kind, id cluster.JobID, ops []cluster.Proposal) {
	b.made = append(b.made, Candidate{Kind: kind, Job: id, Ops: ops, commitment: b.walk.front.commitment})
}

// start adds to start a job somewhere.
func (b *board) start(kind Kind, id cluster.JobID, at cluster.Placement) {
	b.add(kind, id, b.walk.memory.list(cluster.Proposal{Kind: cluster.OpPlace, Job: id, Placement: at}))
}

// TakeAll implements Source. Taking the base's own closes the list.
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
		if c.Kind == Reserve || c.Kind == Gather || c.Kind == Drop {
			w.front.reserve(&c.reservation)
		}
	}
	return b.refused, b.again()
}

// again shows what is left of the list.
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
	if left {
		return nil
	}
	return b.close()
}

// rest is what of the base's proposal still fits, in its order.
func (b *board) rest() []cluster.Proposal {
	w, m := b.walk, &b.walk.memory
	mark, from := w.tx.Mark(), len(m.ops)
	for i := range w.ops {
		if w.tx.Try(&w.ops[i]) {
			m.ops = append(m.ops, w.ops[i])
		} else if w.whole {
			m.ops = m.ops[:from]
			break // it is all or nothing
		}
	}
	w.tx.Rollback(mark)
	return m.ops[from:len(m.ops):len(m.ops)]
}

// close ends the list: the base is asked again if it does not know what was done.
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
