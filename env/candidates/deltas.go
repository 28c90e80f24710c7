package candidates

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// Bounds on the search for one decision.
const (
	moved   = 12   // how many running jobs are tried for a move
	victims = 8    // how many running jobs are tried as victims of a preemption
	changed = 4    // how many changes are made
	faster  = 1.05 // a job moves only if its speed grows at least by this factor
	slow    = 0.95 // jobs above this speed, relative to that requested, stay where they are, unless they are elastic
)

// vetoes returns the alternative to a proposal that preempts jobs: preempt none, and start only those jobs for which there is
// room then. The state is that before the proposal. There is no alternative if a job without room has been kept from starting for
// too long.
func (w *walk) vetoes(ops []cluster.Proposal) ([]Candidate, error) {
	tx, s, c := w.tx, w.tx.View(), w.front.commitment
	veto := Candidate{Kind: Veto, Job: -1}
	c.spared, c.kept = slices.Clone(c.spared), nil
	for i := range ops {
		if ops[i].Kind == cluster.OpPreempt {
			c.spared = append(c.spared, ops[i].Job)
			veto.Job = ops[i].Job
		}
	}
	if veto.Job < 0 {
		return nil, nil
	}
	c.sparing, c.done = s.Now()+w.Hold, true
	mark := tx.Mark()
	for _, p := range startsAlone(ops) {
		err := tx.Do(&p)
		switch {
		case err == nil:
			veto.Ops = append(veto.Ops, p)
		case !errors.Is(err, cluster.ErrInfeasible):
			return nil, err
		case w.exempt(s, p.Job):
			tx.Rollback(mark)
			return nil, nil
		default:
			c.kept = append(c.kept, p.Job)
		}
	}
	tx.Rollback(mark)
	veto.commitment = c
	return []Candidate{veto}, nil
}

// changes adds candidates that change running jobs, after the base's last start.
func (o *finder) changes() {
	if o.w.deltas >= changed || o.tx.View().NoPreemption() {
		return
	}
	if o.w.freed {
		o.gains(1)
	}
	if o.w.news && !o.w.Moves {
		o.preempt()
	}
}

// longest returns the running jobs that have an estimate, the longest remaining time first.
func (o *finder) longest() []cluster.JobID {
	if o.ranked {
		return o.w.longest
	}
	s, ids := o.tx.View(), o.w.longest[:0]
	for _, id := range s.Running() {
		if s.Knows(id) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b cluster.JobID) int {
		return cmp.Or(cmp.Compare(s.ExpectedFinish(b), s.ExpectedFinish(a)), cmp.Compare(a, b))
	})
	o.w.longest, o.ranked = ids, true
	return ids
}

// gains adds up to most candidates that each make a running job clearly faster, the one that gains most first. Each gives its job
// the placement and the amounts that the job would get if it started now.
func (o *finder) gains(most int) {
	s := o.tx.View()
	if s.FreeTotal() == 0 {
		return
	}
	profile, from, tried := placement.Profile(s), len(o.all), 0
	for _, id := range o.longest() {
		before, left := profile.Speed(s, id), s.ExpectedFinish(id)-s.Now()
		if spec := s.Spec(id); before >= slow && spec.Least() == spec.Most() {
			continue
		}
		if tried++; tried > moved*o.w.times() {
			break
		}
		at, ok := o.w.again(o.tx, id)
		if !ok {
			continue
		}
		p := cluster.Proposal{Kind: cluster.OpMigrate, Job: id, Placement: at}
		kind := Move
		if old := s.Placement(id).Workers(); at.Workers() != old {
			p.Kind = cluster.OpResize
			if at.Workers() > old {
				kind = Grow
			}
		}
		mark := o.tx.Mark()
		if !o.tx.Try(&p) {
			continue
		}
		after := profile.Speed(s, id)
		o.tx.Rollback(mark)
		if gain := time.Duration(float64(left) * (1 - before/after)); after > faster*before && gain > 0 {
			o.all = append(o.all, Candidate{Kind: kind, Job: id, Ops: o.w.memory.list(p), Saves: gain, commitment: o.now()})
		}
	}
	slices.SortStableFunc(o.all[from:], func(a, b Candidate) int { return cmp.Compare(b.Saves, a.Saves) })
	o.all = o.all[:min(len(o.all), from+most)]
}

// again returns the placement with which a running job would start now if it were not running; ok is false if that is its present
// one.
func (w *walk) again(tx *cluster.Txn, id cluster.JobID) (cluster.Placement, bool) {
	s, mark := tx.View(), tx.Mark()
	defer tx.Rollback(mark)
	old := w.memory.placement(s.Placement(id))
	if tx.Preempt(id) != nil {
		return nil, false
	}
	st, ok := w.fit(tx, id)
	return st.at, ok && !slices.Equal(st.at, old)
}

// preempt adds a candidate that lets the first waiting job start by stopping a running job, the one with the longest remaining
// time whose GPUs suffice.
func (o *finder) preempt() {
	if len(o.queue) > 0 {
		o.stops(o.queue[0], 1)
	}
}

// stops adds up to most candidates that each stop a running job to let the waiting job first start. The running job must have at
// least twice as long to go; jobs with the longest remaining time come first.
func (o *finder) stops(first cluster.JobID, most int) {
	s := o.tx.View()
	left, known := s.Remaining(first)
	if !known {
		return
	}
	ids, from := o.longest(), len(o.all)
	for _, id := range ids[:min(len(ids), victims*o.w.times())] {
		if s.ExpectedFinish(id)-s.Now() < 2*left || s.Placement(id).GPUMilli() == 0 || len(o.all) == from+most {
			break
		}
		mark := o.tx.Mark()
		if o.tx.Preempt(id) != nil {
			continue
		}
		st, ok := o.w.fit(o.tx, first)
		o.tx.Rollback(mark)
		if ok {
			stop := cluster.Proposal{Kind: cluster.OpPreempt, Job: id}
			o.all = append(o.all, Candidate{Kind: Preempt, Job: first, Ops: o.w.memory.list(stop, st.proposal()), commitment: o.now()})
		}
	}
}
