package cluster

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
)

// TestCopyOutlivesOriginal checks that a copy made within a transaction can be rolled back after the original has ended that
// transaction and reused its memory, and likewise the original after the copy has done so.
func TestCopyOutlivesOriginal(t *testing.T) {
	for _, copyGoesOn := range []bool{false, true} {
		spec := of(ServerSpec{GPUs: 2, Rack: 1}, ServerSpec{GPUs: 2, Rack: 2}, ServerSpec{GPUs: 2, Rack: 3, Pool: Inference})
		spec.Quotas = []Quota{{"t", 5}}
		s := with(t, spec, JobSpec{Workers: 3, Request: wholeGPU, Tenant: "t"}, JobSpec{Workers: 2, Request: wholeGPU, Tenant: "t"})
		place(t, s, 0, Placement{{0, 2, wholeGPU}, {1, 1, wholeGPU}})
		was, tx := portray(s), s.Begin(nil)
		must.Do(t, errors.Join(tx.Loan(2), tx.Migrate(0, Placement{{2, 2, wholeGPU}, {1, 1, wholeGPU}}), tx.Preempt(0)))
		rests, goesOn := new(State), s
		if s.CopyTo(rests); copyGoesOn {
			rests, goesOn = goesOn, rests
		}
		goesOn.Txn().End()
		place(t, goesOn, 1, Placement{{2, 1, wholeGPU}, {1, 1, wholeGPU}})
		place(t, goesOn, 0, Placement{{2, 1, wholeGPU}, {0, 2, wholeGPU}}) // reuses all memory that the transaction has freed
		goesOn.Fail(1, -1, nil)
		conserve(t, goesOn)
		rests.Txn().Rollback(0)
		if got := portray(rests); !reflect.DeepEqual(got, was) {
			t.Errorf("copy goes on: %v; rolled back to\n%+v, want\n%+v", copyGoesOn, got, was)
		}
		conserve(t, rests)
	}
}

// TestCopyOwnsItsEvents checks that a copy owns its events: they do not change when the original's driver reuses the slice that
// it passed to Begin, and the copy does not write to a slice that its own driver passed before.
func TestCopyOwnsItsEvents(t *testing.T) {
	s, dst := with(t, Uniform(1, 1), JobSpec{Workers: 1, Request: wholeGPU}), new(State)
	lent := []Event{{Kind: Woke}}
	s.CopyTo(dst)
	dst.Begin(lent)
	given := []Event{{Kind: Arrived}}
	s.Begin(given)
	s.CopyTo(dst)
	given[0].Kind = Found
	if got := dst.Txn().Events(); len(got) != 1 || got[0].Kind != Arrived || lent[0].Kind != Woke {
		t.Errorf("the copy is told %v, and its driver's memory holds %v", got, lent)
	}
}

// TestCopyOfAnotherCopy checks that a copy over an earlier copy has the right jobs, including done ones, if the state itself was
// overwritten by another state in between.
func TestCopyOfAnotherCopy(t *testing.T) {
	ended := func(estimate time.Duration) *State {
		s := with(t, Uniform(1, 1), JobSpec{Workers: 1, Request: wholeGPU, Estimate: estimate})
		place(t, s, 0, Placement{{0, 1, wholeGPU}})
		s.Finish(0)
		return s
	}
	one, two, between, dst := ended(1), ended(2), new(State), new(State)
	for _, s := range []*State{one, two, one} {
		s.CopyTo(between)
		between.CopyTo(dst)
		if got, want := portray(dst), portray(s); !reflect.DeepEqual(got, want) {
			t.Errorf("copied twice it is\n%+v, want\n%+v", got, want)
		}
	}
}
