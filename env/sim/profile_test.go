package sim

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// TestProfile checks that the profile that schedulers see is the physics without jitter, and that it gives the speed of a
// tentative placement.
func TestProfile(t *testing.T) {
	model := must.Get(physics.Parse("inter-server(0.5) * jitter(0.3)"))(t)
	jobs := []trace.Job{{Work: time.Hour, JobSpec: cluster.JobSpec{
		Name: "a", Workers: 2, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}}}}
	s := must.Get(New(Config{Cluster: cluster.Uniform(2, 2), Physics: model}, jobs))(t)
	tx, _ := s.Next()
	state := tx.View()
	for _, c := range []struct {
		on   cluster.Placement
		want float64
	}{
		{cluster.Placement{{Server: 0, Workers: 2, Amount: jobs[0].Request}}, 1},
		{cluster.Placement{{Server: 0, Workers: 1, Amount: jobs[0].Request}, {Server: 1, Workers: 1, Amount: jobs[0].Request}}, 1 / 1.25},
	} {
		mark := tx.Mark()
		must.Do(t, tx.Place(0, c.on))
		if got := state.Profile().Speed(state, 0); got != c.want {
			t.Errorf("on %v: profiled speed %v, want %v", c.on, got, c.want)
		}
		if got := model.Speed(state, 0); got == c.want {
			t.Errorf("on %v: true speed %v, want another than the profiled one", c.on, got)
		}
		tx.Rollback(mark)
	}
	var fork Sim
	s.Fork(&fork)
	if fork.state.Profile() == nil {
		t.Error("a fork has no profile")
	}
}
