package cluster

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
)

// lendable returns two servers of the training pool and three of the inference pool, each of 2 GPUs.
func lendable() Spec {
	in := ServerSpec{GPUs: 2, Pool: Inference}
	return of(ServerSpec{GPUs: 2}, ServerSpec{GPUs: 2}, in, in, in)
}

func TestLending(t *testing.T) {
	loan := func(id ServerID) func(*State) error { return func(s *State) error { return s.Txn().Loan(id) } }
	reclaim := func(id ServerID) func(*State) error { return func(s *State) error { return s.Txn().Reclaim(id) } }
	offer := func(n int32) func(*State) error { return func(s *State) error { s.SetOffer(n, time.Hour); return nil } }
	fail := func(id ServerID) func(*State) error { return func(s *State) error { s.Fail(id, -1, nil); return nil } }
	seize := func(id ServerID) func(*State) error { return func(s *State) error { s.Seize(id, nil); return nil } }
	run := func(id ServerID) func(*State) error {
		return func(s *State) error { return s.Txn().Place(0, Placement{{id, 1, wholeGPU}}) }
	}
	for _, c := range []struct {
		name       string
		do         []func(*State) error
		want       string // the error of the last operation
		lent, owed int32
	}{
		{"before the inference scheduler speaks all of its servers may be on loan",
			[]func(*State) error{loan(2), loan(3), loan(4)}, "<nil>", 3, 0},
		{"a server of the training pool cannot be", []func(*State) error{loan(0)},
			"loan server 0: it serves training already: infeasible", 0, 0},
		{"nor one twice", []func(*State) error{loan(2), loan(2)}, "loan server 2: it serves training already: infeasible", 1, 0},
		{"nor one that there is not", []func(*State) error{loan(5)}, "loan server 5: no such server: infeasible", 0, 0},
		{"nor one that is down", []func(*State) error{fail(3), loan(3)}, "loan server 3: it is down: infeasible", 0, 0},
		{"nor one more than is offered", []func(*State) error{offer(1), loan(3), loan(2)},
			"loan server 2: 1 are on loan, want at most the 1 offered: infeasible", 1, 0},
		{"one that came back makes room for another", []func(*State) error{offer(1), loan(3), reclaim(3), loan(2)}, "<nil>", 1, 0},
		{"a smaller offer takes none away, but what is beyond is owed",
			[]func(*State) error{loan(2), loan(3), loan(4), offer(1)}, "<nil>", 3, 2},
		{"until it is given back", []func(*State) error{loan(2), loan(3), offer(1), reclaim(2)}, "<nil>", 1, 0},
		{"or seized", []func(*State) error{loan(2), loan(3), offer(1), seize(2)}, "<nil>", 1, 0},
		{"one that is down is on loan all the same", []func(*State) error{loan(2), fail(2), offer(0)}, "<nil>", 1, 1},
		{"and can be given back", []func(*State) error{loan(2), fail(2), offer(0), reclaim(2)}, "<nil>", 0, 0},
		{"one with jobs cannot", []func(*State) error{loan(2), run(2), reclaim(2)},
			"reclaim server 2: 1 jobs run on it: infeasible", 1, 0},
		{"nor one that is not on loan", []func(*State) error{reclaim(2)}, "reclaim server 2: it is not on loan: infeasible", 0, 0},
		{"nor one below the first", []func(*State) error{reclaim(-1)}, "reclaim server -1: no such server: infeasible", 0, 0},
		{"jobs run on servers that are on loan", []func(*State) error{loan(2), run(2)}, "<nil>", 1, 0},
		{"and on no others of the inference pool", []func(*State) error{loan(2), run(3)},
			"place job 0: server 3 takes 0 of its workers, want 1: infeasible", 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := with(t, lendable(), JobSpec{Workers: 1, Request: wholeGPU})
			s.Begin(nil)
			for i, do := range c.do {
				err := do(s)
				if i < len(c.do)-1 && err != nil {
					t.Fatal(err)
				}
				if i == len(c.do)-1 && (fmt.Sprint(err) != c.want || err != nil && !errors.Is(err, ErrInfeasible)) {
					t.Errorf("error %v, want %s", err, c.want)
				}
			}
			if owed, _ := s.Owed(); s.Lent() != c.lent || owed != c.owed {
				t.Errorf("%d lent, %d owed, want %d and %d", s.Lent(), owed, c.lent, c.owed)
			}
			conserve(t, s)
		})
	}
}

// TestRollbackOfLoans checks that Rollback reverses loans, and that it reverses reclaims, so that the servers are on loan again.
func TestRollbackOfLoans(t *testing.T) {
	s := with(t, lendable())
	tx := s.Begin(nil)
	must.Do(t, tx.Loan(2))
	mark := tx.Mark()
	must.Do(t, errors.Join(tx.Reclaim(2), tx.Loan(4)))
	if tx.Rollback(mark); s.Lent() != 1 || !s.OnLoan(2) || s.OnLoan(4) || s.FreeTotal() != 6 {
		t.Errorf("%d lent, %d GPUs free, want server 2 and 6", s.Lent(), s.FreeTotal())
	}
	if tx.Rollback(0); s.Lent() != 0 || s.OnLoan(2) || s.FreeTotal() != 4 {
		t.Errorf("%d lent, %d GPUs free, want none and 4", s.Lent(), s.FreeTotal())
	}
}

// troubled returns a state in which jobs have run for a minute: j0 on GPUs 0 and 1 of server 0, j1 on GPU 2 of server 0 and on
// server 1, and j2 on server 1.
func troubled(t *testing.T) *State {
	s := with(t, of(ServerSpec{GPUs: 4}, ServerSpec{GPUs: 4}), JobSpec{Workers: 2, Request: wholeGPU},
		JobSpec{Workers: 2, Request: wholeGPU}, JobSpec{Workers: 1, Request: wholeGPU})
	place(t, s, 0, Placement{{0, 2, wholeGPU}})
	place(t, s, 1, Placement{{0, 1, wholeGPU}, {1, 1, wholeGPU}})
	place(t, s, 2, Placement{{1, 1, wholeGPU}})
	s.Advance(time.Minute)
	return s
}

// TestInterruptedJobGoesOn checks that an interrupted job waits with the progress that the driver sets, and continues from there.
func TestInterruptedJobGoesOn(t *testing.T) {
	s := troubled(t)
	if stopped := s.Fail(0, 0, []JobID{7}); !slices.Equal(stopped, []JobID{7, 0}) {
		t.Fatalf("stopped %v, want job 0 appended", stopped)
	}
	if s.Working(0) != 3 || !s.Failed(0, 0) || s.Failed(0, 1) || s.Down(0) || s.GPUUse(0)[0] != WholeGPU {
		t.Errorf("%d GPUs in order, use %v, want 3 and all of GPU 0", s.Working(0), s.GPUUse(0))
	}
	s.SetProgress(0, 40*time.Second, s.Now(), 0)
	s.Advance(2 * time.Minute)
	if s.Progress(0) != 40*time.Second || s.Attained(0) != 2*time.Minute {
		t.Errorf("progress %v, attained %v, want 40s of its checkpoint and the 2m0s that it held", s.Progress(0), s.Attained(0))
	}
	place(t, s, 0, Placement{{0, 2, wholeGPU}})
	if got := s.GPUs(0); !slices.Equal(got, []int32{1, 3}) {
		t.Errorf("GPUs %v, want [1 3] beside the one out of order and that of job 1", got)
	}
	s.Advance(3 * time.Minute)
	if s.Progress(0) != 100*time.Second || s.Starts(0) != 2 {
		t.Errorf("progress %v after %d starts, want 1m40s after 2", s.Progress(0), s.Starts(0))
	}
}
