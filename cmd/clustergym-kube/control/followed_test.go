package control

import (
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// followed is a scheduler that makes proposals of its own after those of another.
type followed struct {
	cluster.Scheduler
	then func(*cluster.Txn)
}

func (s followed) Schedule(tx *cluster.Txn) error {
	err := s.Scheduler.Schedule(tx)
	s.then(tx)
	return err
}

// deciderThen returns a decider of a policy that then makes more proposals.
func deciderThen(t testing.TB, name string, then func(*cluster.Txn)) *decide.Decider {
	t.Helper()
	source, err := new(policy.Finder).Find(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := source.Load()
	if err != nil {
		t.Fatal(err)
	}
	plain, with := p.New, p.With
	p.New = func() (cluster.Scheduler, error) {
		s, err := plain()
		return followed{s, then}, err
	}
	if with != nil {
		p.With = func(g baselines.Given) (cluster.Scheduler, error) {
			s, err := with(g)
			return followed{s, then}, err
		}
	}
	source.Load = func() (*policy.Policy, error) { return p, nil }
	d, err := decide.New(decide.Config{Source: source, Deadline: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// resizeTo gives each worker of a running job an amount, if there is room.
func resizeTo(tx *cluster.Txn, id cluster.JobID, cpuMilli, memMiB int32) {
	is := slices.Clone(tx.View().Placement(id))
	for i := range is {
		is[i].CPUMilli, is[i].MemMiB = cpuMilli, memMiB
	}
	_ = tx.Resize(id, is)
}
