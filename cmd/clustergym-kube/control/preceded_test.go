package control

import (
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// preceded is a scheduler that makes proposals of its own before those of another.
type preceded struct {
	cluster.Scheduler
	first func(*cluster.Txn)
}

func (s preceded) Schedule(tx *cluster.Txn) error {
	s.first(tx)
	return s.Scheduler.Schedule(tx)
}

// deciderAfter returns a decider of a policy that makes other proposals first.
func deciderAfter(t testing.TB, name string, first func(*cluster.Txn)) *decide.Decider {
	t.Helper()
	source := must.Get(new(policy.Finder).Find(name))(t)
	p := must.Get(source.Load())(t)
	plain, with := p.New, p.With
	p.New = func() (cluster.Scheduler, error) {
		s, err := plain()
		return preceded{s, first}, err
	}
	if with != nil {
		p.With = func(g baselines.Given) (cluster.Scheduler, error) {
			s, err := with(g)
			return preceded{s, first}, err
		}
	}
	source.Load = func() (*policy.Policy, error) { return p, nil }
	d := must.Get(decide.New(decide.Config{Source: source, Deadline: time.Minute}))(t)
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
