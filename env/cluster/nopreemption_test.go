package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
)

// TestNoPreemption checks that a cluster that forbids preemption refuses to change jobs that ran before the transaction, and only
// these, that failures still stop them, and that a search may suppose such changes.
func TestNoPreemption(t *testing.T) {
	spec := Uniform(2, 4)
	spec.NoPreemption = true
	s := must.Get(NewState(spec, 2))(t)
	work := JobSpec{Workers: 2, MinWorkers: 1, MaxWorkers: 4, Request: Amount{GPUMilli: WholeGPU}}
	s.Submit(0, &work)
	s.Submit(1, &work)
	on := func(v ServerID, n int32) Placement { return Placement{{Server: v, Workers: n, Amount: work.Request}} }
	place := func(id JobID, p Placement) Proposal { return Proposal{Kind: OpPlace, Job: id, Placement: p} }
	migrate := Proposal{Kind: OpMigrate, Job: 0, Placement: on(1, 2)}
	resize := Proposal{Kind: OpResize, Job: 0, Placement: on(0, 4)}
	preempt := Proposal{Kind: OpPreempt, Job: 0}

	tx := s.Begin(nil)
	for _, p := range []Proposal{place(0, on(0, 2)), resize, preempt, place(0, on(0, 2)), migrate} {
		if err := tx.Do(&p); err != nil {
			t.Errorf("the transaction that starts the job: %v", err)
		}
	}
	tx.End()

	s.Advance(time.Second)
	if !s.NoPreemption() || s.Placement(0)[0].Server != 1 {
		t.Fatalf("preemption allowed: %v, job 0 on %v", !s.NoPreemption(), s.Placement(0))
	}
	var copied State
	s.CopyTo(&copied)
	for name, s := range map[string]*State{"state": s, "copy": &copied} {
		tx := s.Begin(nil)
		start := place(1, on(0, 2))
		must.Do(t, tx.Do(&start))
		for _, p := range []Proposal{{Kind: OpMigrate, Job: 0, Placement: on(0, 2)}, {Kind: OpResize, Job: 0, Placement: on(1, 3)}, preempt} {
			was, mark := s.Placement(0)[0], tx.Mark()
			if err := tx.Do(&p); !errors.Is(err, ErrInfeasible) || s.Placement(0)[0] != was || tx.Mark() != mark || tx.Try(&p) {
				t.Errorf("%s: %v of a running job: error %v, job on %v", name, p.Kind, err, s.Placement(0))
			}
			if err := tx.Suppose(&p); err != nil {
				t.Errorf("%s: suppose %v: %v", name, p.Kind, err)
			}
			tx.Rollback(mark)
		}
		if tx.Refused() != 6 {
			t.Errorf("%s: %d operations refused, want 6", name, tx.Refused())
		}
		tx.End()
	}
	if stopped := s.Fail(1, -1, nil); len(stopped) != 1 || s.Phase(0) != Pending {
		t.Errorf("a failure stops %v", stopped)
	}
}
