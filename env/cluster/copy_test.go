package cluster

import (
	"errors"
	"reflect"
	"testing"
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
