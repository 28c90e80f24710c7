package headroom

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// candidate is a policy that a search begins with, together with the information that its scheduler sees.
type candidate struct {
	name      string
	new       func() (cluster.Scheduler, error)
	influence *influence
	from      *influence // the influence at the beginning of the search
}

// course is an episode that was played to its end.
type course struct {
	sum  time.Duration // sum of completion times
	rows []eval.Row    // all jobs except warm ones
	log  *sim.Log
}

// errUnfinished reports a truncated episode, whose completion times cannot be compared.
var errUnfinished = errors.New("not every job finished")

// play plays a candidate from the beginning. The scheduler sees the influence; the simulator uses the true values.
func (f *finder) play(ctx context.Context, c *candidate) (*course, error) {
	s, err := f.episode(c.influence)
	if err != nil {
		return nil, err
	}
	inner, err := c.new()
	if err != nil {
		return nil, err
	}
	if err := s.Run(ctx, &influenced{inner: inner, until: c.influence.until, warm: f.warm}, f.opts.Seed); err != nil {
		return nil, err
	}
	f.played++
	return f.course(s.Log())
}

func (f *finder) episode(w *influence) (*sim.Sim, error) {
	e := *f.start
	e.Jobs = w.jobs(e.Jobs)
	return e.New()
}

func (f *finder) course(log *sim.Log) (*course, error) {
	if !log.Outcome.Terminated {
		return nil, errUnfinished
	}
	out := &course{rows: eval.Rows(log), log: log}
	for i := range out.rows {
		out.sum += out.rows[i].JCT()
	}
	return out, nil
}

// move contains what a scheduler did at one decision point.
type move struct {
	ops  []cluster.Proposal
	wake time.Duration // requested wake-up; 0: none
}

// record returns the operations and the wake-up of an open transaction.
func record(tx *cluster.Txn) move {
	var m move
	for i := range tx.Ops() {
		m.ops = append(m.ops, tx.Ops()[i].Proposal())
	}
	if at, ok := tx.Wake(); ok {
		m.wake = at
	}
	return m
}

// script is a scheduler that repeats recorded moves, one for each decision point.
type script struct {
	moves []move
	at    int
}

// Name implements cluster.Scheduler.
func (s *script) Name() string { return "clairvoyant search" }

// Reset implements cluster.Scheduler.
func (s *script) Reset(uint64) error {
	s.at = 0
	return nil
}

// Schedule implements cluster.Scheduler.
func (s *script) Schedule(tx *cluster.Txn) error {
	if s.at == len(s.moves) {
		return fmt.Errorf("decision %d was not recorded", s.at)
	}
	m := &s.moves[s.at]
	s.at++
	for i := range m.ops {
		if err := tx.Do(&m.ops[i]); err != nil {
			return fmt.Errorf("decision %d: %w", s.at-1, err)
		}
	}
	if m.wake > 0 {
		tx.WakeAt(m.wake)
	}
	return nil
}
