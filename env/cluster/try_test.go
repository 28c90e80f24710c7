package cluster

import (
	"errors"
	"strings"
	"testing"
)

// TestTry checks that Try allows what Do allows, allocates nothing for other operations, and that Do returns the reason
// afterwards.
func TestTry(t *testing.T) {
	s, err := NewState(Spec{
		Servers: []ServerSpec{{Name: "a", GPUs: 2}, {Name: "b", GPUs: 1}, {Name: "c", GPUs: 1, Pool: Inference}, {Name: "d", GPUs: 1, Pool: Inference}},
		Quotas:  []Quota{{Tenant: "poor", GPUs: 0}},
	}, 4)
	if err != nil {
		t.Fatal(err)
	}
	s.SetOffer(1, 0)
	one := Amount{GPUMilli: WholeGPU}
	for id, tenant := range []string{"", "", "poor", ""} {
		s.Submit(JobID(id), &JobSpec{Tenant: tenant, Workers: 1, MaxWorkers: 2, Request: one})
	}
	on := func(server ServerID, workers int32) Placement {
		return Placement{{Server: server, Workers: workers, Amount: one}}
	}
	tx := s.Begin(nil)
	for _, p := range []Proposal{
		{Kind: OpPlace, Job: 0, Placement: on(1, 1)}, {Kind: OpLoan, Server: 2}, {Kind: OpPlace, Job: 1, Placement: on(2, 1)},
		{Kind: OpMigrate, Job: 0, Placement: on(0, 1)}, {Kind: OpResize, Job: 0, Placement: on(0, 2)},
	} {
		if mark := tx.Mark(); !tx.Try(&p) || tx.Mark() != mark+1 {
			t.Fatalf("%+v is refused", p)
		}
	}
	for _, c := range []struct {
		Proposal
		says string
	}{
		{Proposal{Kind: OpPlace, Job: 0, Placement: on(0, 1)}, "it is running, want pending"},
		{Proposal{Kind: OpPreempt, Job: 3}, "it is pending, want running"},
		{Proposal{Kind: OpPlace, Job: 3, Placement: on(0, 1)}, "takes 0 of its workers"},
		{Proposal{Kind: OpPlace, Job: 2, Placement: on(1, 1)}, "tenant poor has 0"},
		{Proposal{Kind: OpMigrate, Job: 0, Placement: on(1, 1)}, "want the 2 that run"},
		{Proposal{Kind: OpLoan, Server: 2}, "serves training already"},
		{Proposal{Kind: OpLoan, Server: 3}, "1 are on loan"},
		{Proposal{Kind: OpReclaim, Server: 2}, "1 jobs run on it"},
		{Proposal{Kind: OpReclaim, Server: 3}, "not on loan"},
	} {
		mark, refused := tx.Mark(), tx.Refused()
		if tx.Try(&c.Proposal) || tx.Mark() != mark || tx.Refused() != refused+1 {
			t.Errorf("%+v is allowed, want it refused and counted", c.Proposal)
		}
		if n := testing.AllocsPerRun(10, func() { tx.Try(&c.Proposal) }); n > 0 {
			t.Errorf("%+v: %v allocations to refuse it, want none", c.Proposal, n)
		}
		if err := tx.Do(&c.Proposal); !errors.Is(err, ErrInfeasible) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: error %v, want that %s", c.Proposal, err, c.says)
		}
	}
}
