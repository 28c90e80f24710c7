package baselines

import (
	"fmt"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
)

// Beliefs are what a policy with KnowSuffix believes during an episode. Call Begin before each decision and End after it: what
// Begin returns shows what is believed, and not what is told. Beliefs are not safe for concurrent use.
type Beliefs struct {
	knowing
	before
	times  *belief.Learner
	speeds *belief.Speeds
}

// Reset begins an episode. It ignores the seed.
func (b *Beliefs) Reset(uint64) error {
	if b.predicts() {
		b.times = belief.New(b.time, b.by)
		if b.memory != nil {
			b.times = b.memory.Times(b.time, b.by)
		}
		if b.before.times != nil {
			if err := b.times.Restore(b.before.times); err != nil {
				return fmt.Errorf("begin with what was learned before: %w", err)
			}
		}
	}
	if !b.learns() {
		return nil
	}
	b.speeds = belief.NewSpeeds(b.fits())
	if b.fits() && b.memory != nil {
		b.speeds = b.memory.Speeds()
	}
	if b.before.speeds != nil {
		if err := b.speeds.Restore(b.before.speeds); err != nil {
			return fmt.Errorf("begin with what was learned of speeds before: %w", err)
		}
	}
	return nil
}

// Begin learns from what has happened since the last decision, and returns the transaction as one sees it who believes it.
func (b *Beliefs) Begin(tx *cluster.Txn) *cluster.Txn {
	if b.learns() {
		b.speeds.Observe(tx)
	}
	if b.predicts() {
		s := tx.View()
		for _, e := range tx.Events() {
			if e.Kind == cluster.Finished {
				b.times.Ended(s.Spec(e.Job), s.Age(e.Job))
			}
		}
	}
	tx = b.show(tx)
	tx.SetRates()
	return tx
}

// show returns a transaction as one sees it who believes what b does.
func (b *Beliefs) show(tx *cluster.Txn) *cluster.Txn {
	var shown cluster.Beliefs
	if b.learns() {
		shown.Speeds = b.speeds
	}
	if b.predicts() {
		if b.by == byUsual {
			b.times.By(belief.Gittins)
			if tx.View().NoPreemption() {
				b.times.By(belief.Mean)
			}
		}
		shown.Times = b.times
	}
	return tx.As(shown)
}

// End lets jobs make progress from now on as is believed of how they run after the decision, and asks for another decision when a
// prediction changes. It takes what Begin has returned.
func (b *Beliefs) End(tx *cluster.Txn) {
	tx.SetRates()
	if !b.predicts() {
		return
	}
	s, soonest := tx.View(), cluster.Never
	for _, id := range s.Running() {
		soonest = min(soonest, s.AsksAgain(id))
	}
	if soonest < cluster.Never-b.step {
		tx.WakeAt((max(soonest, tx.Now())/b.step + 1) * b.step)
	}
}

// decide lets s decide by what the transaction shows.
func (b *Beliefs) decide(tx *cluster.Txn, s cluster.Scheduler) error {
	if err := s.Schedule(tx); err != nil {
		return err
	}
	b.End(tx)
	return nil
}

// PlayOn returns a scheduler that decides as s would in a copy of the state. Its Reset copies what b believes by then, and from
// there it learns as b would, without b learning of a future that may not come.
func (b *Beliefs) PlayOn(s cluster.Scheduler) cluster.Scheduler {
	return &follower{knower: knower{s, &Beliefs{knowing: b.knowing}, s.Name()}, from: b}
}

// follower is a knower that begins with what others believe, in the middle of one of their decisions.
type follower struct {
	knower
	from   *Beliefs
	begins bool
}

func (f *follower) Reset(seed uint64) error {
	f.begins = true
	if b := f.from; b.predicts() {
		f.beliefs.times = b.times.Copy(b.time, b.by)
	}
	if b := f.from; b.learns() {
		f.beliefs.speeds = b.speeds.Copy()
	}
	return f.Scheduler.Reset(seed)
}

func (f *follower) Schedule(tx *cluster.Txn) error {
	if !f.begins {
		return f.knower.Schedule(tx)
	}
	f.begins = false
	return f.beliefs.decide(f.beliefs.show(tx), f.Scheduler)
}

// knower is a scheduler that decides by what it has learned, and not by what it is told.
type knower struct {
	cluster.Scheduler
	beliefs *Beliefs
	name    string
}

func (p *knower) Name() string { return p.name }

var _ interface{ Unwrap() cluster.Scheduler } = (*knower)(nil) // so that cluster.Within finds the scheduler

// Unwrap returns the scheduler that decides by what is believed.
func (p *knower) Unwrap() cluster.Scheduler { return p.Scheduler }

func (p *knower) Reset(seed uint64) error {
	if err := p.beliefs.Reset(seed); err != nil {
		return err
	}
	return p.Scheduler.Reset(seed)
}

func (p *knower) Schedule(tx *cluster.Txn) error {
	return p.beliefs.decide(p.beliefs.Begin(tx), p.Scheduler)
}
