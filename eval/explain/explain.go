// Package explain explains a scheduler's decision by facts about the jobs and the servers, since schedulers give no reasons. It
// reads a cluster.State and the operations of a transaction, and decides nothing.
//
// New gathers Facts before the scheduler decides. Facts.Decision then repeats the scheduler's operations one by one on a copy of
// the state, and explains each by the state before it. All results are deterministic.
package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// Facts are a copy of the state before a scheduler decides on it, with the ranks of the waiting jobs. Facts are not safe for
// concurrent use.
type Facts struct {
	before     cluster.State
	bySubmit   []cluster.JobID       // the waiting jobs by submission
	byEstimate []cluster.JobID       // the waiting jobs with an estimate, by remaining estimated time
	submitted  map[cluster.JobID]int // rank in bySubmit, from 1
	shortest   map[cluster.JobID]int // rank in byEstimate, from 1
	beside     string
	besides    map[cluster.JobID]bool
}

// New returns the facts of a state in which nothing is decided yet. It copies the state.
func New(s *cluster.View) *Facts {
	f := &Facts{submitted: map[cluster.JobID]int{}, shortest: map[cluster.JobID]int{}}
	s.CopyTo(&f.before)
	f.bySubmit = bySubmission(s, s.Pending())
	for i, id := range f.bySubmit {
		f.submitted[id] = i + 1
	}
	f.byEstimate = slices.DeleteFunc(slices.Clone(f.bySubmit), func(id cluster.JobID) bool { return !s.Knows(id) })
	slices.SortStableFunc(f.byEstimate, func(a, b cluster.JobID) int {
		x, _ := s.Remaining(a)
		y, _ := s.Remaining(b)
		return cmp.Compare(x, y)
	})
	for i, id := range f.byEstimate {
		f.shortest[id] = i + 1
	}
	return f
}

// Beside gives the name of another policy and the jobs that it would start on the same state, so that reasons mention where the
// two policies differ.
func (f *Facts) Beside(name string, starts map[cluster.JobID]bool) {
	f.beside, f.besides = name, starts
}

// bySubmission returns jobs sorted by submission, then id.
func bySubmission(s *cluster.View, jobs []cluster.JobID) []cluster.JobID {
	jobs = slices.Clone(jobs)
	slices.SortFunc(jobs, func(a, b cluster.JobID) int {
		return cmp.Or(cmp.Compare(s.Spec(a).Submit, s.Spec(b).Submit), cmp.Compare(a, b))
	})
	return jobs
}

// Decision explains the operations of a transaction on the state, and why each job that waits afterwards does. It does not keep
// ops. It returns an error if the state does not allow an operation, because the operation belongs to another state. An
// explanation may take far longer than the decision: when ctx ends, Decision returns its error.
func (f *Facts) Decision(ctx context.Context, ops []cluster.Op) (*Decision, error) {
	d := &Decision{facts: f, ctx: ctx, Steps: make([]Step, len(ops)), Waiting: []Wait{}}
	f.before.CopyTo(&d.after)
	tx := d.after.Begin(nil)
	for i := range ops {
		o := &ops[i]
		d.ops = append(d.ops, o.Proposal())
	}
	stay := d.stay()
	for i := range d.ops {
		if d.late() {
			break
		}
		o, step := &d.ops[i], &d.Steps[i]
		step.Kind, step.Job, step.Server = o.Kind, o.Job, o.Server
		if o.Kind == cluster.OpPlace {
			d.passOver(step, stay)
			step.RunnerUp = runnerUp(&d.after.View, o.Job, o.Placement)
		}
		was := note(&d.after.View, o)
		if err := tx.Do(o); err != nil {
			return nil, fmt.Errorf("explain operation %d: %w", i, err)
		}
		d.explain(i, was)
	}
	tx.End()
	d.waits()
	if d.late() {
		return nil, fmt.Errorf("explain a decision: %w", ctx.Err())
	}
	d.ctx = nil
	return d, nil
}

// late reports whether the context of the explanation has ended.
func (d *Decision) late() bool { return d.ctx.Err() != nil }

// Decision is an explained decision.
type Decision struct {
	Steps   []Step // one for each operation, in order
	Waiting []Wait // the jobs that wait after all operations, by submission

	facts *Facts
	ctx   context.Context // of the call that explains the decision
	ops   []cluster.Proposal
	after cluster.State // the state after all operations
}

// After returns the state after all operations. It is read-only and valid as long as the decision.
func (d *Decision) After() *cluster.View { return &d.after.View }

// stay returns the jobs that waited before the decision and still wait after it, by submission.
func (d *Decision) stay() []cluster.JobID {
	started := map[cluster.JobID]bool{}
	for i := range d.ops {
		if d.ops[i].Kind == cluster.OpPlace {
			started[d.ops[i].Job] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(d.facts.bySubmit), func(id cluster.JobID) bool { return started[id] })
}

// moment returns the state before the i-th operation.
func (d *Decision) moment(i int) *cluster.View {
	s := new(cluster.State)
	d.facts.before.CopyTo(s)
	tx := s.Begin(nil)
	for k := range d.ops[:i] {
		_ = tx.Do(&d.ops[k]) // the operation succeeded before
	}
	tx.End()
	return &s.View
}
