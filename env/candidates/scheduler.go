package candidates

import "github.com/clustergym/clustergym/env/cluster"

// Judge chooses among candidates.
type Judge interface {
	// Reset begins an episode.
	Reset(seed uint64)
	// Observe is called at the beginning of each decision, with the transaction and its events.
	Observe(tx *cluster.Txn)
	// Choose returns the index of the candidate to take. list[0] is the base's own candidate, and there is at least one other.
	// All candidates that are not Gone are feasible. The state is that before any of them; Choose may try operations but must
	// roll them back.
	Choose(tx *cluster.Txn, list []Candidate) (int, error)
}

// Scheduler is a cluster.Scheduler in which a judge chooses among a source's candidates, one at a time. After each choice that
// the base did not propose, the source asks the base again, with wide lists as with narrow ones. So the remaining operations of a
// proposal that the base made before that choice are never on the next list.
type Scheduler struct {
	Source
	name  string
	judge Judge
	next  *Candidate // with which the next Schedule goes on, see Guard.Take
}

var _ cluster.Scheduler = (*Scheduler)(nil)

// New returns a scheduler with the given name, over the source that NewSource returns for c.
func New(name string, c Config, judge Judge) *Scheduler {
	c.single = true
	return &Scheduler{Source: NewSource(c), name: name, judge: judge}
}

// Name implements cluster.Scheduler.
func (s *Scheduler) Name() string { return s.name }

// Reset implements cluster.Scheduler.
func (s *Scheduler) Reset(seed uint64) error {
	s.judge.Reset(seed)
	return s.Source.Reset(seed)
}

// begin begins a decision, or goes on with one.
func (s *Scheduler) begin(tx *cluster.Txn) error {
	if s.next == nil {
		return s.Begin(tx)
	}
	o := s.next
	s.next = nil
	return s.Source.(*walk).resume(tx, o)
}

// Schedule implements cluster.Scheduler.
func (s *Scheduler) Schedule(tx *cluster.Txn) error {
	s.judge.Observe(tx)
	if err := s.begin(tx); err != nil {
		return err
	}
	var taken [1]int
	for len(s.List()) > 0 {
		i, err := s.judge.Choose(tx, s.List())
		if err != nil {
			return err
		}
		if taken[0] = i; s.List()[i].Gone {
			err = s.Pass() // the judge took the base's own, of which nothing fits any more
		} else {
			_, err = s.TakeAll(taken[:])
		}
		if err != nil {
			return err
		}
	}
	return nil
}
