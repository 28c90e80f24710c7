package sim

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// TestMisprofile checks that schedulers see wrong speeds, also in a fork and after Resume, while jobs run at the true ones.
func TestMisprofile(t *testing.T) {
	model := must.Get(physics.Parse("cpu-mem * sharing(1)"))(t)
	whole := cluster.Amount{GPUMilli: cluster.WholeGPU}
	jobs := []trace.Job{{Work: time.Hour, JobSpec: cluster.JobSpec{Name: "a", Model: "resnet50-64", Workers: 2, Request: whole}}}
	cfg := Config{Cluster: cluster.Uniform(2, 2), Physics: model, Misprofile: physics.Misprofile{Within: 0.3, Seed: 1}}
	s := must.Get(New(cfg, jobs))(t)
	tx, _ := s.Next()
	must.Do(t, tx.Place(0, cluster.Placement{{Server: 0, Workers: 2, Amount: whole}}))
	told := tx.View().Profile().Speed(tx.View(), 0)
	if told == 1 || told < 1/1.3 || told > 1.3 {
		t.Errorf("told %v, want another than 1 from 1/1.3 to 1.3", told)
	}
	var fork, resumed Sim
	s.Fork(&fork)
	from := tx.View()
	bare := &cluster.State{}
	from.CopyTo(bare)
	bare.SetProfile(nil)
	must.Do(t, resumed.Resume(&cfg, &bare.View, Rest{Work: func(cluster.JobID) time.Duration { return time.Hour }}))
	for name, other := range map[string]*Sim{"a fork": &fork, "a resumed episode": &resumed} {
		if got := other.state.Profile().Speed(&other.state.View, 0); got != told {
			t.Errorf("%s tells %v, want %v", name, got, told)
		}
	}
	s.Commit()
	for _, ok := s.Next(); ok; _, ok = s.Next() {
		s.Commit()
	}
	if end := s.State().Now(); end != time.Hour {
		t.Errorf("the job ran for %v, want the %v that it takes", end, time.Hour)
	}
}
