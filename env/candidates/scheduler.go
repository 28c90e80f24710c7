package candidates

import "github.com/clustergym/clustergym/env/cluster"

// Judge chooses among candidates.
type Judge interface {
	// Reset begins an episode.
	Reset(seed uint64)
	// Observe is told that a decision begins, with the events of its transaction.
	Observe(tx *cluster.Txn)
	// Choose returns which candidate to take. list[0] is the base's own; there are others, and all are feasible but those that are
	// Gone. The state is
	// that before any of them, and must be so again when Choose returns.
	Choose(tx *cluster.Txn, list []Candidate) (int, error)
}

// Scheduler is a Source from which a judge takes the candidates, one at a time. It implements cluster.Scheduler.
type Scheduler struct {
	Source
	name  string
	judge Judge
}

var _ cluster.Scheduler = (*Scheduler)(nil)

// New returns the scheduler.
func New(name string, c Config, judge Judge) *Scheduler { return &Scheduler{NewSource(c), name, judge} }

// Name implements cluster.Scheduler.
func (s *Scheduler) Name() string { return s.name }

// Reset implements cluster.Scheduler.
func (s *Scheduler) Reset(seed uint64) error {
	s.judge.Reset(seed)
	return s.Source.Reset(seed)
}

// Schedule implements cluster.Scheduler.
func (s *Scheduler) Schedule(tx *cluster.Txn) error {
	s.judge.Observe(tx)
	if err := s.Begin(tx); err != nil {
		return err
	}
	var taken [1]int
	for len(s.List()) > 0 {
		i, err := s.judge.Choose(tx, s.List())
		if err != nil {
			return err
		}
		if taken[0] = i; s.List()[i].Gone {
			err = s.Pass() // the base's own, of which nothing is left
		} else {
			_, err = s.TakeAll(taken[:])
		}
		if err != nil {
			return err
		}
	}
	return nil
}
