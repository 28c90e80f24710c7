package headroom

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
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
	cost float64    // by the objective
	rows []eval.Row // all jobs except warm ones
	paid []float64  // by job, what it costs
	log  *sim.Log
}

// errUnfinished reports a truncated episode, whose cost cannot be compared.
var errUnfinished = errors.New("not every job finished")

// play plays a candidate from the beginning. The scheduler sees the influence; the simulator uses the true values.
func (f *finder) play(ctx context.Context, c *candidate) (*course, error) {
	s, meter, err := f.episode(c.influence)
	if err != nil {
		return nil, err
	}
	inner, err := c.new()
	if err != nil {
		return nil, err
	}
	if err := s.Run(ctx, &influenced{inner: inner, until: c.influence.until}, f.opts.Seed); err != nil {
		return nil, err
	}
	f.played++
	return f.course(s, meter)
}

// episode returns the episode before its first decision, with jobs as the scheduler sees them, and the meter of what it costs.
func (f *finder) episode(w *influence) (*sim.Sim, *objectives.Meter, error) {
	e := *f.start
	e.Jobs = w.jobs(e.Jobs)
	s, err := e.New()
	if err != nil {
		return nil, nil, err
	}
	meter := f.start.Meter(f.objective, nil)
	follow(s, meter)
	return s, meter, nil
}

// follow charges a meter for what happens in a simulation from now on.
func follow(s *sim.Sim, meter *objectives.Meter) {
	v := &s.State().View
	s.Watch(func(from, to time.Duration) { meter.Pass(v, from, to) })
}

// course returns what was played to its end.
func (f *finder) course(s *sim.Sim, meter *objectives.Meter) (*course, error) {
	log := s.Log()
	if !log.Outcome.Terminated {
		return nil, errUnfinished
	}
	meter.Catch(&s.State().View)
	out := &course{cost: meter.Total(), rows: eval.Rows(log), log: log, paid: make([]float64, len(log.Jobs))}
	for id := range out.paid {
		meter.Job(cluster.JobID(id), func(_ int, x float64) { out.paid[id] += x })
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
