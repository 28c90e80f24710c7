package cluster

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

// A copy made within a transaction can be rolled back after the original has ended it and gone on with its storage, and so
// can the original after the copy.
func TestCopyOutlivesOriginal(t *testing.T) {
	for _, copyGoesOn := range []bool{false, true} {
		spec := of(ServerSpec{GPUs: 2, Rack: 1}, ServerSpec{GPUs: 2, Rack: 2}, ServerSpec{GPUs: 2, Rack: 3, Pool: Inference})
		spec.Quotas = []Quota{{"t", 5}}
		s := with(t, spec, JobSpec{Workers: 3, Request: wholeGPU, Tenant: "t"}, JobSpec{Workers: 2, Request: wholeGPU, Tenant: "t"})
		place(t, s, 0, Placement{{0, 2, wholeGPU}, {1, 1, wholeGPU}})
		was, tx := portray(s), s.Begin(nil)
		if err := errors.Join(tx.Loan(2), tx.Migrate(0, Placement{{2, 2, wholeGPU}, {1, 1, wholeGPU}}), tx.Preempt(0)); err != nil {
			t.Fatal(err)
		}
		rests, goesOn := new(State), s
		if s.CopyTo(rests); copyGoesOn {
			rests, goesOn = goesOn, rests
		}
		goesOn.Txn().End()
		place(t, goesOn, 1, Placement{{2, 1, wholeGPU}, {1, 1, wholeGPU}})
		place(t, goesOn, 0, Placement{{2, 1, wholeGPU}, {0, 2, wholeGPU}}) // over all that the transaction has put back
		goesOn.Fail(1, -1, nil)
		conserve(t, goesOn)
		rests.Txn().Rollback(0)
		if got := portray(rests); !reflect.DeepEqual(got, was) {
			t.Errorf("copy goes on: %v; rolled back to\n%+v, want\n%+v", copyGoesOn, got, was)
		}
		conserve(t, rests)
	}
}

// What the scheduler of a copy is told is the copy's own: neither what the original's driver makes of the memory it gave to
// Begin changes it, nor does the copy write to what its own driver once gave.
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

// A copy over an earlier copy of a state that has itself become another in between has the other's jobs, those done, too.
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
