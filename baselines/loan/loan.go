package loan

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// orchestrator borrows and gives back before the scheduler that it wraps decides.
type orchestrator struct {
	name   string
	inner  cluster.Scheduler
	c      Config
	draw   *rand.Rand
	clock  clock
	events []cluster.Event
	scaled []cluster.JobID // at the last call
	census census
	some   []cluster.ServerID // scratch
	fit    cluster.Placement
}

// New lets a scheduler use the inference pool, under the given name. An option out of range is an error of Reset.
//
// At every decision point, or by Config.Period, it first gives back what is owed and then borrows; the inner scheduler
// decides after that and needs to know nothing of loans. What was done to its jobs it is told by events behind those that
// came in:
//
//   - Interrupted for a job that was stopped: it waits again and may be started in the same transaction. What it keeps of
//     its work is known only after that: until then its progress is what it was.
//   - Respeed for a job that was scaled in, at once, when its placement is already smaller but its rate still the old one,
//     and again at the next decision point, when the rate is known. So schedulers that keep rates or finishes in mind learn
//     of both changes, by the event that they know.
func New(name string, inner cluster.Scheduler, c Config) cluster.Scheduler {
	return &orchestrator{name: name, inner: inner, c: c}
}

func (o *orchestrator) Name() string { return o.name }

func (o *orchestrator) Reset(seed uint64) error {
	if err := o.c.validate(); err != nil {
		return fmt.Errorf("loan: %w", err)
	}
	o.draw = rng.Stream(seed, "baselines", "loan")
	o.clock = clock{period: o.c.Period, asked: never}
	o.scaled = o.scaled[:0]
	return o.inner.Reset(seed)
}

func (o *orchestrator) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	o.events = o.clock.observe(s.Now(), append(o.events[:0], tx.Events()...))
	o.recall(s)
	if o.clock.due(s) {
		if owed, _ := s.Owed(); owed > 0 {
			if err := o.giveBack(tx, int(owed)); err != nil {
				return err
			}
		}
		for _, id := range o.wanted(s) {
			if err := tx.Loan(id); err != nil {
				return err
			}
		}
	}
	tx.Tell(o.events)
	if err := o.inner.Schedule(tx); err != nil || o.c.Period == 0 {
		return err
	}
	owed, _ := s.Owed()
	o.clock.wake(tx, owed > 0 || len(o.wanted(s)) > 0)
	return nil
}

// recall tells of the jobs that were scaled in at the last call and still run: now they progress at their new rates, which
// the driver tells of only where they are not 1.
func (o *orchestrator) recall(s *cluster.View) {
	for _, id := range o.scaled {
		if e := (cluster.Event{Kind: cluster.Respeed, Job: id}); s.Phase(id) == cluster.Running && !slices.Contains(o.events, e) {
			o.events = append(o.events, e)
		}
	}
	o.scaled = o.scaled[:0]
}

// giveBack returns n servers on loan, cleared of their jobs.
func (o *orchestrator) giveBack(tx *cluster.Txn, n int) error {
	s := tx.View()
	lent, ids, jobs := o.census.take(s)
	returned, preempted := o.c.reclaim(len(lent), jobs, n, o.draw)
	for _, at := range returned {
		o.census.leaves[at] = true
	}
	for _, j := range preempted {
		if err := tx.Preempt(ids[j]); err != nil {
			return err
		}
		o.events = append(o.events, cluster.Event{Kind: cluster.Interrupted, Job: ids[j]})
	}
	for _, id := range ids {
		if s.Phase(id) != cluster.Running {
			continue
		}
		o.fit = o.fit[:0]
		for _, p := range s.Placement(id) {
			if at := o.census.at[p.Server]; at < 0 || !o.census.leaves[at] {
				o.fit = append(o.fit, p)
			}
		}
		if len(o.fit) == len(s.Placement(id)) {
			continue
		}
		if err := tx.Resize(id, o.fit); err != nil {
			return err
		}
		o.scaled = append(o.scaled, id)
		o.events = append(o.events, cluster.Event{Kind: cluster.Respeed, Job: id})
	}
	for _, at := range returned {
		if err := tx.Reclaim(lent[at]); err != nil {
			return err
		}
	}
	return nil
}

// census describes what is on loan by numbers.
type census struct {
	lent   []cluster.ServerID // on loan
	leaves []bool             // of those, which are to go back
	at     []int              // of each server in lent, -1 if it is not on loan
	ids    []cluster.JobID    // with workers on those, ascending
	jobs   []job              // of the same
	pieces []piece            // of all of them
}

func (c *census) take(s *cluster.View) (lent []cluster.ServerID, ids []cluster.JobID, jobs []job) {
	c.lent, c.at, c.ids, c.jobs, c.pieces = c.lent[:0], c.at[:0], c.ids[:0], c.jobs[:0], c.pieces[:0]
	for i := range s.Servers() {
		id, at := cluster.ServerID(i), -1
		if s.OnLoan(id) {
			at = len(c.lent)
			c.lent = append(c.lent, id)
			c.ids = append(c.ids, s.Residents(id)...)
		}
		c.at = append(c.at, at)
	}
	c.leaves = append(c.leaves[:0], make([]bool, len(c.lent))...)
	slices.Sort(c.ids)
	c.ids = slices.Compact(c.ids)
	for _, id := range c.ids {
		c.jobs = append(c.jobs, c.describe(s, id))
	}
	return c.lent, c.ids, c.jobs
}

// describe tells of one job. A job whose workers have roles is rigid, so its least is what runs: it is never flexible.
func (c *census) describe(s *cluster.View, id cluster.JobID) job {
	placement, from := s.Placement(id), len(c.pieces)
	j := job{Flexible: max(placement.Workers()-s.Spec(id).Least(), 0)}
	for _, p := range placement {
		milli := int64(p.Workers) * int64(p.GPUMilli)
		if at := c.at[p.Server]; at >= 0 {
			c.pieces = append(c.pieces, piece{Server: at, Workers: p.Workers, GPUMilli: milli})
		} else {
			j.Elsewhere++
			j.ElsewhereMilli += milli
		}
	}
	j.Pieces = c.pieces[from:len(c.pieces):len(c.pieces)]
	return j
}
