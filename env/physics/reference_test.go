package physics_test

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// every returns a model of all parts whose factor depends on more than the job's name and number of servers.
func every() physics.Model {
	return physics.Compose(
		physics.GPUType{}, physics.CPUMem{}, physics.Scaling{}, physics.InterServer{Penalty: 0.5}, physics.Sharing{Strength: 1},
		physics.Diminishing{Gain: 0.8}, physics.NewNetwork(50, 4, 0.5), physics.Power{Watts: 1500}, physics.NewInterleaved(50, 4, 0.7),
	)
}

// TestEveryPartIsOneWhereNothingIsInTheWay checks that a job that runs alone on one server of V100 GPUs with what it asked for
// has speed 1 exactly.
func TestEveryPartIsOneWhereNothingIsInTheWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t, "a")
		s := state(t, cluster.Uniform(2, 4), &spec)
		must.Do(t, s.Begin(nil).Place(0, cluster.Placement{{Server: 1, Workers: spec.Workers, Amount: spec.Request}}))
		if got := every().Speed(&s.View, 0); got != 1 {
			t.Fatalf("speed %v of %+v, want 1", got, spec)
		}
	})
}

// TestAPartnerNeverHelps checks that a partner on the same GPUs or uplinks never speeds a job up, and that the old speed returns
// to the last bit when the partner leaves.
func TestAPartnerNeverHelps(t *testing.T) {
	slower := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSpec(t, "a"), drawSpec(t, "b")
		racks := cluster.Uniform(4, 4)
		for i := range racks.Servers {
			racks.Servers[i].GPUType, racks.Servers[i].Rack = "V100", int32(i/2)+1
		}
		s, m := state(t, racks, &a, &b), every()
		tx := s.Begin(nil)
		must.Do(t, tx.Place(0, scatter(t, &a)))
		alone := m.Speed(&s.View, 0)
		mark := tx.Mark()
		if tx.Place(1, scatter(t, &b)) != nil {
			return
		}
		beside := m.Speed(&s.View, 0)
		coupled := m.Coupled(&s.View, s.Placement(1), nil)
		if beside > alone || beside <= 0 {
			t.Fatalf("alone %v, beside %v", alone, beside)
		}
		if beside < alone {
			slower++
			if len(coupled) == 0 {
				t.Fatalf("alone %v, beside %v, and nobody is coupled", alone, beside)
			}
		}
		if tx.Rollback(mark); m.Speed(&s.View, 0) != alone {
			t.Fatalf("alone %v, and again alone %v", alone, m.Speed(&s.View, 0))
		}
	})
	if slower == 0 {
		t.Error("no partner was ever in the way")
	}
}

// TestSpeedsFromManyGoroutines checks that concurrent calls of one model return the same speeds as calls from one goroutine.
func TestSpeedsFromManyGoroutines(t *testing.T) {
	names := profile.Names()
	specs := make([]cluster.JobSpec, len(names))
	pointers := make([]*cluster.JobSpec, len(names))
	for i, name := range names {
		specs[i] = cluster.JobSpec{Name: fmt.Sprint(i), Model: name, Workers: 2, Request: cluster.Amount{GPUMilli: 100}}
		pointers[i] = &specs[i]
	}
	s := state(t, cluster.Uniform(2, 8), pointers...)
	for i := range pointers {
		must.Do(t, s.Begin(nil).Place(cluster.JobID(i), spread(specs[i].Request, 1, 1)))
	}
	speeds := func(m physics.Model) []float64 {
		all := make([]float64, len(specs))
		for i := range all {
			all[i] = m.Speed(&s.View, cluster.JobID(i))
		}
		return all
	}
	want, together := fmt.Sprint(speeds(every())), every()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got := fmt.Sprint(speeds(together)); got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	group.Wait()
}

// TestJitterIsEven checks that jitter stays within two standard deviations and is above 1 about as often as below.
func TestJitterIsEven(t *testing.T) {
	const jobs = 2000
	m, up, down := physics.Jitter{Sigma: 0.15}, 0, 0
	for i := range jobs {
		spec := cluster.JobSpec{Name: fmt.Sprint("job-", i), Workers: 1, Request: cluster.Amount{GPUMilli: 1000}}
		s := state(t, cluster.Uniform(1, 1), &spec)
		must.Do(t, s.Begin(nil).Place(0, spread(spec.Request, 1)))
		f := m.Factor(&s.View, 0)
		switch {
		case f > 1:
			up++
		case f < 1:
			down++
		}
		if math.Abs(math.Log(f)) > 0.3+1e-12 {
			t.Fatalf("job %d: %v", i, f)
		}
	}
	if min(up, down) < jobs*45/100 {
		t.Errorf("%d of %d up, %d down", up, jobs, down)
	}
}

func state(t rapid.TB, spec cluster.Spec, jobs ...*cluster.JobSpec) *cluster.State {
	t.Helper()
	s := must.Get(cluster.NewState(spec, len(jobs)))(t)
	for i, j := range jobs {
		must.Do(t, j.Validate())
		s.Submit(cluster.JobID(i), j)
	}
	return s
}

// drawSpec draws a job of at most 4 workers.
func drawSpec(t *rapid.T, name string) cluster.JobSpec {
	j := cluster.JobSpec{Name: name, Model: rapid.SampledFrom(append(profile.Names(), "")).Draw(t, "model")}
	j.Stages, j.Tensor = rapid.Int32Range(0, 2).Draw(t, "stages"), rapid.Int32Range(0, 2).Draw(t, "tensor")
	role := max(j.Stages, 1) * j.Together()
	j.Workers = role * rapid.Int32Range(1, 4/role).Draw(t, "replicas")
	if role == 1 {
		j.MinWorkers, j.MaxWorkers = 1, j.Workers+rapid.Int32Range(0, 2).Draw(t, "more")
	}
	j.Request = cluster.Amount{
		GPUMilli: rapid.SampledFrom([]int32{1000, 400}).Draw(t, "share"),
		CPUMilli: rapid.SampledFrom([]int32{0, 3000}).Draw(t, "cores"), MemMiB: rapid.SampledFrom([]int32{0, 64_000}).Draw(t, "memory"),
	}
	return j
}

// scatter returns a placement that puts each group of workers that must be together on a server of its own.
func scatter(t *rapid.T, j *cluster.JobSpec) (p cluster.Placement) {
	servers := rapid.Permutation([]cluster.ServerID{0, 1, 2, 3}).Draw(t, "servers")
	for left := j.Workers; left > 0; left -= j.Together() {
		p = append(p, cluster.Piece{Server: servers[0], Workers: j.Together(), Amount: j.Request})
		servers = servers[1:]
	}
	return p
}
