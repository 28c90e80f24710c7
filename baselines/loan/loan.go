package loan

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// orchestrator borrows and returns servers before the scheduler that it wraps decides.
type orchestrator struct {
	name   string
	inner  cluster.Scheduler
	c      Config
	draw   *rand.Rand
	events []cluster.Event
	scaled []cluster.JobID // jobs that were scaled in at the last call
	census census
	some   []cluster.ServerID // scratch
	fit    cluster.Placement
}

// New returns a scheduler of the given name that lets the scheduler inner use the inference pool. If an option is out of range,
// Reset returns an error.
//
// At every decision point the orchestrator first returns the servers that are owed and then borrows; the paper's acts every 5
// minutes (§7.1). The inner scheduler decides after that and needs no code for loans. Additional events, after those of the
// driver, tell it what happened to its jobs:
//
//   - Interrupted for a job that was stopped. The job waits again, and the scheduler may start it in the same transaction. How
//     much of its work it keeps is known only after the transaction; until then its progress does not change.
//   - Respeed for a job that was scaled in: once immediately, when its placement is already smaller and its rate still the old
//     one, and again at the next decision point, when the new rate is known. Schedulers that remember rates or finishes thus
//     learn of both changes.
func New(name string, inner cluster.Scheduler, c Config) cluster.Scheduler {
	return &orchestrator{name: name, inner: inner, c: c}
}

func (o *orchestrator) Name() string { return o.name }

func (o *orchestrator) Reset(seed uint64) error {
	if err := o.c.validate(); err != nil {
		return fmt.Errorf("loan: %w", err)
	}
	o.draw = rng.Stream(seed, "baselines", "loan")
	o.scaled = o.scaled[:0]
	return o.inner.Reset(seed)
}

func (o *orchestrator) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	o.events = append(o.events[:0], tx.Events()...)
	o.recall(s)
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
	tx.Tell(o.events)
	return o.inner.Schedule(tx)
}

// recall adds a Respeed event for each running job that was scaled in at the last call. Such jobs now progress at their new
// rates; the driver reports a new rate only if it is not 1.
func (o *orchestrator) recall(s *cluster.View) {
	for _, id := range o.scaled {
		if e := (cluster.Event{Kind: cluster.Respeed, Job: id}); s.Phase(id) == cluster.Running && !slices.Contains(o.events, e) {
			o.events = append(o.events, e)
		}
	}
	o.scaled = o.scaled[:0]
}

// giveBack returns n servers on loan after removing their jobs.
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

// census describes the servers on loan, and the jobs there, by numbers.
type census struct {
	lent   []cluster.ServerID // servers on loan
	leaves []bool             // by index in lent: whether the server is to go back
	at     []int              // by server: its index in lent, -1 if it is not on loan
	ids    []cluster.JobID    // jobs with workers on lent servers, ascending
	jobs   []job              // the same jobs as numbers
	pieces []piece            // pieces of all these jobs
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

// describe returns the numbers of one job. If a job's workers have roles, the job is rigid and its least equals what runs, so it
// is never flexible.
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
