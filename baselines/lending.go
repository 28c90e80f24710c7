package baselines

import (
	"fmt"

	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/cluster"
)

// lending lets a scheduler that knows nothing of loans use the inference pool: it borrows every server that is offered and
// gives back what is owed before the inner scheduler decides. It gives back the server whose jobs run on the fewest other
// servers besides: the least sum over its jobs of 1 / servers of the job, none first (Lyra, EuroSys 2023, §4: server preemption
// cost), then the lowest id. What it stops the inner scheduler is told of as interrupted.
type lending struct {
	inner  cluster.Scheduler
	events []cluster.Event
	jobs   []cluster.JobID
}

// Borrow lets a scheduler use the inference pool, under its name with LoanSuffix.
func Borrow(s cluster.Scheduler) cluster.Scheduler { return &lending{inner: s} }

// CutLoan cuts LoanSuffix and its options off a name and returns what lets a scheduler borrow so, nil where the name has no such
// end.
func CutLoan(name string) (inner string, borrow func(cluster.Scheduler) cluster.Scheduler, err error) {
	inner, options, found := cutSuffix(name, LoanSuffix)
	if !found {
		return name, nil, nil
	}
	var s option.Set
	if err := s.Parse(options); err != nil {
		return name, nil, fmt.Errorf("policy %q: %s: %w", name, LoanSuffix, err)
	}
	return inner, Borrow, nil
}

func (l *lending) Name() string            { return l.inner.Name() + LoanSuffix }
func (l *lending) Reset(seed uint64) error { return l.inner.Reset(seed) }

func (l *lending) Schedule(tx *cluster.Txn) error {
	s := tx.State()
	l.events = append(l.events[:0], tx.Events()...)
	for owed, _ := s.Owed(); owed > 0; owed-- {
		if err := l.giveBack(tx, cheapest(s)); err != nil {
			return err
		}
	}
	for i := 0; i < s.Servers() && s.Lent() < s.Offer(); i++ {
		id := cluster.ServerID(i)
		if s.Server(id).Pool == cluster.Inference && !s.OnLoan(id) && !s.Down(id) {
			if err := tx.Loan(id); err != nil {
				return err
			}
		}
	}
	tx.Tell(l.events)
	return l.inner.Schedule(tx)
}

func (l *lending) giveBack(tx *cluster.Txn, id cluster.ServerID) error {
	l.jobs = append(l.jobs[:0], tx.State().Residents(id)...)
	for _, job := range l.jobs {
		if err := tx.Preempt(job); err != nil {
			return err
		}
		l.events = append(l.events, cluster.Event{Kind: cluster.Interrupted, Job: job})
	}
	return tx.Reclaim(id)
}

// cheapest returns the server on loan with the least preemption cost.
func cheapest(s *cluster.State) cluster.ServerID {
	best, least := cluster.ServerID(-1), 0.0
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		if !s.OnLoan(id) {
			continue
		}
		cost := 0.0
		for _, job := range s.Residents(id) {
			cost += 1 / float64(len(s.Placement(job)))
		}
		if best < 0 || cost < least {
			best, least = id, cost
		}
	}
	return best
}

// loans describes LoanSuffix.
func loans() Baseline {
	return Baseline{
		LoanSuffix, "behind any policy: it borrows servers of the inference pool",
		"Every server that is offered is borrowed. What is owed is given back before the policy decides, first the server whose jobs" +
			" run on the fewest others besides.",
		"Lyra (Li et al., EuroSys 2023), §4: server preemption cost", "what the inference pool offers",
		func(*settings) maker { return nil },
	}
}
