package baselines

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// preemptive gives the cluster to the first of the live jobs (waiting or running) in an order. It goes through all of them: a
// job that still fits into the cluster's totals runs, any other waits, even if it was running. A running job that goes on
// running does not move. Where the cluster forbids preemption, all running jobs come first, so that only waiting jobs have an
// order.
//
//	srtf, synergy  remaining time, submit, id (type srtf where jobs are placed by best fit)
//	srsf           remaining time x GPUs, submit, id
//	serverfilling  the same; among the first jobs that would fill the cluster, those that need most go first (see filling)
//	las            level of attained service, submit, id (see levels); what was just started is not stopped (see quantum)
//	gittins        rank of attained service, submit, id (see package gittins)
type preemptive struct {
	name string
	// order returns the key of a job that would take extra longer than its work alone: a restart to be paid for (see quantum).
	order func(s *cluster.View, id cluster.JobID, extra time.Duration) (time.Duration, error)
	// alarm returns when a running job's key will change although nothing else happens, and false if it will not.
	alarm   func(*cluster.View, cluster.JobID) (time.Duration, bool)
	learn   learner // nil if the order learns nothing
	quantum quantum
	plan    plan
}

// learner learns from the jobs that end; the keys of an order may depend on it.
type learner interface {
	Reset(seed uint64)
	Note(s *cluster.View, e cluster.Event)
}

func (p *preemptive) Name() string { return p.name }

func (p *preemptive) Reset(seed uint64) error {
	if p.learn != nil {
		p.learn.Reset(seed)
	}
	p.quantum.reset()
	p.plan.reset(seed, p.quantum.evict)
	return nil
}

func (p *preemptive) Schedule(tx *cluster.Txn) error {
	if p.learn != nil {
		for _, e := range tx.Events() {
			p.learn.Note(tx.View(), e)
		}
	}
	p.quantum.see(tx.View())
	if err := p.plan.run(tx, p.turn); err != nil {
		return err
	}
	p.quantum.note(tx)
	if p.alarm == nil || tx.View().NoPreemption() {
		return nil
	}
	for _, id := range tx.View().Running() {
		if at := p.quantum.until(tx.View(), id); at > tx.Now() { // until then its turn cannot change
			tx.WakeAt(at)
		} else if at, ok := p.alarm(tx.View(), id); ok {
			tx.WakeAt(at)
		}
	}
	return nil
}

// turn returns the job's key in the order. A running job that may not be stopped yet, or not at all, goes before all others. A
// waiting job counts as taking longer by what a stop must gain, so that a running job is stopped only for one that gains more.
func (p *preemptive) turn(s *cluster.View, id cluster.JobID) (time.Duration, error) {
	if s.Phase(id) == cluster.Running && (s.NoPreemption() || s.Now() < p.quantum.until(s, id)) {
		return math.MinInt64, nil
	}
	return p.order(s, id, p.quantum.extra(s, id))
}

// leftWith is timeLeft and extra.
func leftWith(s *cluster.View, id cluster.JobID, extra time.Duration) (time.Duration, error) {
	left, err := timeLeft(s, id)
	return left + extra, err
}

// timeLeft returns the time that a job still needs, by its estimate and at its present speed. For a job that has outlived its
// estimate it grows with the time that the job has run (see cluster.View.Remaining).
func timeLeft(s *cluster.View, id cluster.JobID) (time.Duration, error) {
	if s.Phase(id) == cluster.Running && s.Knows(id) {
		return s.ExpectedFinish(id) - s.Now(), nil
	}
	return byEstimate(s, id)
}

// serviceLeft returns the time left and extra, times the number of GPUs requested.
func serviceLeft(s *cluster.View, id cluster.JobID, extra time.Duration) (time.Duration, error) {
	left, err := leftWith(s, id, extra)
	spec := s.Spec(id)
	return left / cluster.WholeGPU * time.Duration(spec.Workers) * time.Duration(spec.Request.GPUMilli), err
}

// plan is one pass of a preemptive order over all live jobs.
type plan struct {
	tickets []ticket
	stop    []cluster.JobID
	start   []cluster.JobID
	barred  map[cluster.JobID]bool // jobs that fit the totals but found no servers in this pass
	place   placement.Placer
	amounts bool                    // the placer may give jobs other amounts than they ask for
	refused map[placement.Kind]bool // scratch of fill
	filling bool                    // see filled
	prefix  []ticket                // scratch of filled
	evict   bool                    // see begin
	evictor evictor
}

func (p *plan) reset(seed uint64, evict bool) {
	p.place.Reset(seed)
	p.evict = evict
	p.barred, p.refused = map[cluster.JobID]bool{}, map[placement.Kind]bool{}
}

// run chooses jobs by the cluster's totals, then stops and starts jobs. If a job finds no servers although it fits the totals
// (because of fragmentation), run rolls everything back and plans again without that job, so that no job is stopped in vain.
func (p *plan) run(tx *cluster.Txn, order func(*cluster.View, cluster.JobID) (time.Duration, error)) error {
	s := tx.View()
	p.tickets = p.tickets[:0]
	for _, ids := range [][]cluster.JobID{s.Pending(), s.Running()} {
		for _, id := range ids {
			key, err := order(s, id)
			if err != nil {
				return err
			}
			p.tickets = append(p.tickets, ticket{key, s.Spec(id).Submit, id})
		}
	}
	slices.SortFunc(p.tickets, ticket.compare)
	for mark := tx.Mark(); ; tx.Rollback(mark) {
		p.choose(s)
		missed, err := p.apply(tx)
		if err != nil {
			return err
		}
		if !missed {
			clear(p.barred)
			return p.fill(tx)
		}
	}
}

// choose fills stop and start by the cluster's totals.
func (p *plan) choose(s *cluster.View) {
	p.stop, p.start = p.stop[:0], p.start[:0]
	room := room{Total: s.Total()}
	tickets := p.tickets
	if p.filling {
		tickets = p.filled(s)
	}
	for _, t := range tickets {
		runs := s.Phase(t.job) == cluster.Running
		switch {
		case !p.barred[t.job] && room.take(s, t.job, p.needs(s, t.job, runs)):
			if !runs {
				p.start = append(p.start, t.job)
			}
		case runs && !s.NoPreemption():
			p.stop = append(p.stop, t.job)
		}
	}
}

// apply stops and starts jobs. It bars a job that finds no servers from the next plan of this pass, and then returns missed =
// true. A placer that may ask profiles is slow. With such a placer, apply goes on after a miss, does not try a kind of jobs
// again that was refused once, and bars all jobs that have not started.
func (p *plan) apply(tx *cluster.Txn) (missed bool, err error) {
	if err := preempt(tx, p.stop); err != nil {
		return false, err
	}
	s := tx.View()
	clear(p.refused)
	for _, id := range p.start {
		kind := p.place.Kind(s, id)
		if p.refused[kind] {
			continue
		}
		start := p.begin
		if p.amounts {
			start = p.place.Place // fill evicts, when all others have their places
		}
		started, err := start(tx, id)
		switch {
		case err != nil:
			return false, err
		case !started && !p.amounts:
			p.barred[id] = true
			return true, nil
		case !started:
			p.refused[kind], missed = true, true
		}
	}
	if missed {
		for _, t := range p.tickets {
			if s.Phase(t.job) == cluster.Pending && !slices.Contains(p.stop, t.job) {
				p.barred[t.job] = true
			}
		}
	}
	return missed, nil
}

// fill starts further jobs that the placer finds room for although they do not fit the totals: beside other jobs, or with less
// than they ask for.
func (p *plan) fill(tx *cluster.Txn) error {
	if p.amounts {
		s := tx.View()
		clear(p.refused)
		for _, t := range p.tickets {
			kind := p.place.Kind(s, t.job)
			if s.Phase(t.job) != cluster.Pending || p.refused[kind] || slices.Contains(p.stop, t.job) {
				continue
			}
			started, err := p.begin(tx, t.job)
			if err != nil {
				return err
			}
			p.refused[kind] = !started
		}
	}
	return placement.Finish(p.place, tx)
}

// begin starts a waiting job where the placer puts it. If the placer finds no place and the plan may evict, begin also stops
// running jobs for it.
func (p *plan) begin(tx *cluster.Txn, id cluster.JobID) (started bool, err error) {
	if started, err = p.place.Place(tx, id); started || err != nil || !p.evict || tx.View().NoPreemption() {
		return started, err
	}
	mark := tx.Mark()
	stopped, err := p.evictor.run(tx, p.tickets, id)
	if err != nil || len(stopped) == 0 {
		return false, err
	}
	if started, err = p.place.Place(tx, id); err != nil || !started {
		tx.Rollback(mark) // the placer would rather wait
		return false, err
	}
	p.stop = append(p.stop, stopped...)
	return true, nil
}

// room is what is left of the cluster's totals while a plan fills them.
type room struct {
	cluster.Total
	tenants map[string]int64 // for each tenant with a quota: what the jobs chosen so far hold
}

// needs returns what a job holds of the totals, or would hold. If the placer gives shares to jobs that asked for whole GPUs, a
// share of a GPU that no other job uses counts as the whole GPU, because the job is in the way of others as if it held all of
// it.
func (p *plan) needs(s *cluster.View, id cluster.JobID, runs bool) (u use) {
	spec := s.Spec(id)
	want := spec.Request
	switch {
	case !runs:
		u.Add(spec.Workers, want)
	case p.amounts:
		for _, piece := range s.Placement(id) {
			for _, g := range s.GPUsOn(id, piece.Server) {
				held := cluster.Amount{GPUMilli: piece.GPUMilli}
				if int32(s.GPUUse(piece.Server)[g]) == piece.GPUMilli {
					held.GPUMilli = max(piece.GPUMilli, want.GPUMilli)
				}
				u.Add(1, held)
			}
		}
		u.held = s.Placement(id).GPUMilli()
	default:
		for _, piece := range s.Placement(id) {
			u.Add(piece.Workers, piece.Amount)
		}
	}
	if u.held == 0 {
		u.held = u.GPUMilli
	}
	return u
}

func (r *room) take(s *cluster.View, id cluster.JobID, u use) bool {
	if !r.Holds(u.Total) {
		return false
	}
	if limit := s.Quota(id); limit >= 0 {
		if r.tenants == nil {
			r.tenants = map[string]int64{}
		}
		if r.tenants[s.Spec(id).Tenant]+u.held > limit {
			return false
		}
		r.tenants[s.Spec(id).Tenant] += u.held
	}
	r.Sub(u.Total)
	return true
}

// use is what a job takes of a room.
type use struct {
	cluster.Total
	held int64 // GPUs as a tenant's quota counts them
}
