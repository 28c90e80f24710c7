package review

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/placement"
)

// Bounds on what is tried for one decision.
const (
	moved   = 12   // running jobs that might move
	victims = 8    // that might be stopped
	changed = 4    // changes that are made
	faster  = 1.05 // by which a job that moves must become
	slow    = 0.95 // of its speed as requested: faster jobs stay, unless they are elastic
)

// vetoes returns the offers beside a proposal that preempts: to preempt nobody, and to start those for whom there is room so.
// The state is that before the proposal.
func (r *Scheduler) vetoes(tx *cluster.Txn, ops []cluster.Proposal) ([]Offer, error) {
	s, c := tx.State(), r.front.commitment
	veto := Offer{Kind: Veto, Job: -1}
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
	c.sparing, c.done = s.Now()+r.Hold, true
	mark := tx.Mark()
	for _, p := range startsAlone(ops) {
		err := tx.Do(&p)
		switch {
		case err == nil:
			veto.Ops = append(veto.Ops, p)
		case !errors.Is(err, cluster.ErrInfeasible):
			return nil, err
		case r.exempt(s, p.Job):
			tx.Rollback(mark)
			return nil, nil
		default:
			c.kept = append(c.kept, p.Job)
		}
	}
	tx.Rollback(mark)
	veto.commitment = c
	return []Offer{veto}, nil
}

// changes thinks of other things for running jobs, once the base starts nobody else.
func (o *thoughts) changes() {
	if o.r.deltas >= changed {
		return
	}
	if o.r.freed {
		o.move()
	}
	if o.r.news && !o.r.Moves {
		o.preempt()
	}
}

// longest returns the running jobs with an estimate, the one with the longest to go first.
func longest(s *cluster.State) []cluster.JobID {
	var ids []cluster.JobID
	for _, id := range s.Running() {
		if s.Spec(id).Estimate > 0 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b cluster.JobID) int {
		return cmp.Or(cmp.Compare(s.ExpectedFinish(b), s.ExpectedFinish(a)), cmp.Compare(a, b))
	})
	return ids
}

// move offers the running job that gains most by it the place that it would get if it started now.
func (o *thoughts) move() {
	s := o.tx.State()
	if s.FreeTotal() == 0 {
		return
	}
	profile := placement.Profile(s)
	var best Offer
	tried := 0
	for _, id := range longest(s) {
		before, left := profile.Speed(s, id), s.ExpectedFinish(id)-s.Now()
		if spec := s.Spec(id); before >= slow && spec.Least() == spec.Most() {
			continue
		}
		if tried++; tried > moved {
			break
		}
		at, ok := o.r.again(o.tx, id)
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
		if o.tx.Do(&p) != nil {
			continue
		}
		after := profile.Speed(s, id)
		o.tx.Rollback(mark)
		if gain := time.Duration(float64(left) * (1 - before/after)); after > faster*before && gain > best.Saves {
			best = Offer{Kind: kind, Job: id, Ops: []cluster.Proposal{p}, Saves: gain, commitment: o.now()}
		}
	}
	if best.Saves > 0 {
		o.all = append(o.all, best)
	}
}

// again proposes where a running job would start now if it did not run.
func (r *Scheduler) again(tx *cluster.Txn, id cluster.JobID) (cluster.Placement, bool) {
	s, mark := tx.State(), tx.Mark()
	defer tx.Rollback(mark)
	old := slices.Clone(s.Placement(id))
	if tx.Preempt(id) != nil {
		return nil, false
	}
	st, ok := r.fit(tx, id)
	return st.at, ok && !slices.Equal(st.at, old)
}

// preempt offers to stop the running job with the longest to go whose GPUs let the first waiting job start.
func (o *thoughts) preempt() {
	s := o.tx.State()
	if len(o.line) == 0 {
		return
	}
	first := o.line[0]
	left, known := s.Remaining(first)
	if !known {
		return
	}
	ids := longest(s)
	for _, id := range ids[:min(len(ids), victims)] {
		if s.ExpectedFinish(id)-s.Now() < 2*left || s.Placement(id).GPUMilli() == 0 {
			return
		}
		mark := o.tx.Mark()
		if o.tx.Preempt(id) != nil {
			continue
		}
		st, ok := o.r.fit(o.tx, first)
		o.tx.Rollback(mark)
		if ok {
			stop := cluster.Proposal{Kind: cluster.OpPreempt, Job: id}
			o.all = append(o.all, Offer{
				Kind: Preempt, Job: first, Ops: []cluster.Proposal{stop, st.proposal()}, commitment: o.now(),
			})
			return
		}
	}
}
