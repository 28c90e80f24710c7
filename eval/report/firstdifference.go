package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval/explain"
)

// Difference is the first decision in which two schedules of the same jobs differ.
type Difference struct {
	Above, Below string // names of the two schedulers
	At           time.Duration
	Job          string   // the job that the decision is about; "" if a server is lent or given back
	What         []string // the operations of each schedule, one per line
	Why          []string // the facts that explain them, one per line
}

// Differ returns the first decision in which two schedules of the same jobs on the same cluster differ, with explanations. Up to
// that decision the schedules are equal, so both schedulers decided on the same state. Differ returns nil if the schedules do not
// differ, and an error for logs of different episodes.
func Differ(a, b *sim.Log) (*Difference, error) {
	above, below := a.Scheduler, b.Scheduler
	if len(a.Jobs) != len(b.Jobs) {
		return nil, fmt.Errorf("explain a difference: schedules of %d and of %d jobs", len(a.Jobs), len(b.Jobs))
	}
	i, ok := sim.FirstDifference(a, b)
	if !ok || i == len(a.Records) || i == len(b.Records) {
		return nil, nil
	}
	first, second, err := decisionAt(a, i)
	if err == nil && first == nil {
		a, b = b, a
		first, second, err = decisionAt(a, i)
	}
	if err != nil {
		return nil, fmt.Errorf("explain a difference: %w", err)
	}
	if first == nil {
		return nil, fmt.Errorf("explain a difference: record %d of either schedule is no decision", i)
	}
	// If the other scheduler decides nothing at that instant, its decision is to do nothing.
	if own, _, err := decisionAt(b, i); err != nil {
		return nil, fmt.Errorf("explain a difference: %w", err)
	} else if own != nil && b.Records[i].At == a.Records[i].At {
		second = own
	}
	k := 0
	for k < len(first.ops) && k < len(second.ops) && equal(&first.ops[k], &second.ops[k]) {
		k++
	}
	d := &Difference{Above: above, Below: below, At: a.Records[i].At}
	d.tell(a.Scheduler, first, k, second)
	d.tell(b.Scheduler, second, k, first)
	return d, nil
}

func equal(o, p *cluster.Proposal) bool {
	return o.Kind == p.Kind && o.Job == p.Job && o.Server == p.Server && slices.Equal(o.Placement, p.Placement)
}

// decision is an explained decision with its operations.
type decision struct {
	*explain.Decision
	ops []cluster.Proposal
}

// decisionAt explains the decision that contains the i-th record of a log, and, for the same state, the decision to do nothing.
// Both are nil if the record is not an operation.
func decisionAt(log *sim.Log, i int) (does, nothing *decision, err error) {
	var facts *explain.Facts
	at := log.Records[i].At
	look := sim.Look{
		Before: func(tx *cluster.Txn, done int) {
			if tx.Now() == at && done <= i {
				facts = explain.New(tx.View())
			}
		},
		After: func(tx *cluster.Txn, done int) bool {
			if done <= i && i < done+len(tx.Ops()) && facts != nil {
				if does, err = decided(facts, tx.Ops()); err == nil {
					nothing, err = decided(facts, nil)
				}
				return false
			}
			return tx.Now() <= at
		},
	}
	if failed := sim.Visit(log, look); failed != nil {
		return nil, nil, failed
	}
	return does, nothing, err
}

func decided(facts *explain.Facts, ops []cluster.Op) (*decision, error) {
	why, err := facts.Decision(context.Background(), ops)
	d := &decision{Decision: why}
	for i := range ops {
		d.ops = append(d.ops, ops[i].Proposal())
	}
	return d, err
}

// tell adds to d what a schedule did from its k-th operation on, and why. beside is the other schedule's decision.
func (d *Difference) tell(name string, own *decision, k int, beside *decision) {
	if k < len(own.ops) {
		o, step := &own.ops[k], &own.Steps[k]
		does := candidates.Candidate{Job: -1, Ops: own.ops[k : k+1]}
		what := fmt.Sprintf("%s: %s", name, does.Does(own.After()))
		if o.Job >= 0 && o.Kind != cluster.OpLoan && o.Kind != cluster.OpReclaim {
			d.Job = cmp.Or(d.Job, own.After().Spec(o.Job).Name)
		}
		d.What, d.Why = append(d.What, what), append(d.Why, name+": "+step.Text)
		return
	}
	d.What = append(d.What, name+": nothing more at that instant")
	if k == len(beside.ops) {
		return
	}
	for i := range own.Waiting {
		if w := &own.Waiting[i]; w.Job == beside.ops[k].Job {
			d.Why = append(d.Why, fmt.Sprintf("%s: job %s %s", name, own.After().Spec(w.Job).Name, w.Text))
		}
	}
}
