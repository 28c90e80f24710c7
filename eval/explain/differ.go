package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Difference is the first decision in which two schedules of the same jobs differ.
type Difference struct {
	At   time.Duration
	Job  string   // that it is about, "" for a server that is lent or given back
	What []string // what either did, a line each
	Why  []string // the facts behind it, a line each
}

// Differ finds where two schedules of the same jobs on the same cluster part, and why: up to there they are the same, so that
// both schedulers saw one state. It returns nil if they never part. Logs of different episodes are an error.
func Differ(a, b *sim.Log) (*Difference, error) {
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
	// Where the other one decides nothing at that instant, its decision is to do nothing.
	if own, _, err := decisionAt(b, i); err != nil {
		return nil, fmt.Errorf("explain a difference: %w", err)
	} else if own != nil && b.Records[i].At == a.Records[i].At {
		second = own
	}
	k := 0
	for k < len(first.ops) && k < len(second.ops) && equal(&first.ops[k], &second.ops[k]) {
		k++
	}
	d := &Difference{At: first.facts.before.Now()}
	d.tell(a.Scheduler, first, k, second)
	d.tell(b.Scheduler, second, k, first)
	return d, nil
}

func equal(o, p *cluster.Proposal) bool {
	return o.Kind == p.Kind && o.Job == p.Job && o.Server == p.Server && slices.Equal(o.Placement, p.Placement)
}

// decisionAt explains the decision that the i-th record of a log belongs to, and beside it that of doing nothing; nil if the
// record is no operation.
func decisionAt(log *sim.Log, i int) (does, nothing *Decision, err error) {
	var facts *Facts
	at := log.Records[i].At
	look := sim.Look{
		Before: func(tx *cluster.Txn, done int) {
			if tx.Now() == at && done <= i {
				facts = New(tx.State())
			}
		},
		After: func(tx *cluster.Txn, done int) bool {
			if done <= i && i < done+len(tx.Ops()) && facts != nil {
				if does, err = facts.Decision(context.Background(), tx.Ops()); err == nil {
					nothing, err = facts.Decision(context.Background(), nil)
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

// tell adds what a schedule did from its k-th operation on, and why; beside is the other's decision.
func (d *Difference) tell(name string, own *Decision, k int, beside *Decision) {
	if k < len(own.ops) {
		o, step := &own.ops[k], &own.Steps[k]
		what := fmt.Sprintf("%s: %s", name, own.names(o))
		if o.Job >= 0 && o.Kind != cluster.OpLoan && o.Kind != cluster.OpReclaim {
			d.Job = cmp.Or(d.Job, own.after.Spec(o.Job).Name)
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
			d.Why = append(d.Why, fmt.Sprintf("%s: job %s %s", name, own.after.Spec(w.Job).Name, w.Text))
		}
	}
}

// names says what an operation does.
func (d *Decision) names(o *cluster.Proposal) string {
	s := &d.facts.before
	switch o.Kind {
	case cluster.OpLoan, cluster.OpReclaim:
		return fmt.Sprintf("%vs server %s", o.Kind, s.Server(o.Server).Name)
	case cluster.OpPreempt:
		return "preempts job " + s.Spec(o.Job).Name
	}
	verb := o.Kind.String() + "s"
	if o.Kind == cluster.OpPlace {
		verb = "starts"
	}
	var at []string
	for _, p := range o.Placement {
		at = append(at, fmt.Sprintf("%s (%s)", s.Server(p.Server).Name, gpus(int64(p.Workers)*int64(p.GPUMilli))))
	}
	return fmt.Sprintf("%s job %s on %s", verb, s.Spec(o.Job).Name, strings.Join(at, ", "))
}
