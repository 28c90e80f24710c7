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

// candidate is a scheduler that a search begins with, and how it is made.
type candidate struct {
	name string
	new  func() (cluster.Scheduler, error)
	sway *sway
	from *sway // as the search began
}

// course is an episode that was played.
type course struct {
	sum  time.Duration // of completion times
	rows []eval.Row    // of all but warm jobs
	log  *sim.Log
}

// errUnfinished is a play that was cut off: its completion times cannot be compared.
var errUnfinished = errors.New("not every job finished")

// play plays a candidate from the beginning. Schedulers see the sway, the simulator the truth.
func (f *finder) play(ctx context.Context, c *candidate) (*course, error) {
	s, err := f.episode(c.sway)
	if err != nil {
		return nil, err
	}
	inner, err := c.new()
	if err != nil {
		return nil, err
	}
	if err := s.Run(ctx, &swayed{inner: inner, until: c.sway.until, warm: f.warm}, f.opts.Seed); err != nil {
		return nil, err
	}
	f.played++
	return f.course(s.Log())
}

func (f *finder) episode(w *sway) (*sim.Sim, error) {
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

// move is what a scheduler did at one decision point.
type move struct {
	ops  []op
	wake time.Duration // 0: none
}

type op struct {
	kind   cluster.OpKind
	job    cluster.JobID
	server cluster.ServerID
	at     cluster.Placement
}

// record notes what an open transaction proposes.
func record(tx *cluster.Txn) move {
	var m move
	for i := range tx.Ops() {
		o := &tx.Ops()[i]
		m.ops = append(m.ops, op{o.Kind, o.Job, o.Server, append(cluster.Placement(nil), o.Placement()...)})
	}
	if at, ok := tx.Wake(); ok {
		m.wake = at
	}
	return m
}

// script is a scheduler that does what was recorded, decision point by decision point.
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
	for _, o := range m.ops {
		if err := o.apply(tx); err != nil {
			return fmt.Errorf("decision %d: %w", s.at-1, err)
		}
	}
	if m.wake > 0 {
		tx.WakeAt(m.wake)
	}
	return nil
}

func (o *op) apply(tx *cluster.Txn) error {
	switch o.kind {
	case cluster.OpPlace:
		return tx.Place(o.job, o.at)
	case cluster.OpResize:
		return tx.Resize(o.job, o.at)
	case cluster.OpMigrate:
		return tx.Migrate(o.job, o.at)
	case cluster.OpPreempt:
		return tx.Preempt(o.job)
	case cluster.OpLoan:
		return tx.Loan(o.server)
	}
	return tx.Reclaim(o.server)
}
