package physics_test

import (
	"math"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// stand describes a job of a model in one configuration.
type stand struct {
	model   string
	workers int32
	on      cluster.Placement
	beside  bool // another job shares its GPUs
	gpu     string
}

// error returns the factor by which the profile of the described job is wrong.
func (c *stand) error(t *testing.T, e physics.Misprofile, model physics.Model) float64 {
	spec := cluster.Uniform(4, 4)
	for i := range spec.Servers {
		spec.Servers[i].GPUType = c.gpu
	}
	s := must.Get(cluster.NewState(spec, 2))(t)
	tx := s.Begin(nil)
	job := func(id cluster.JobID, name string) {
		s.Submit(id, &cluster.JobSpec{
			Name: name, Model: c.model, Workers: c.workers, MinWorkers: 1, MaxWorkers: 16,
			Request: cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: 4000, MemMiB: 4096},
		})
		must.Do(t, tx.Place(id, c.on))
	}
	job(0, "a")
	if c.beside {
		job(1, "b")
	}
	told := e.Profiled(model)
	off := told.Speed(&s.View, 0) / model.Speed(&s.View, 0)
	if again := told.Speed(&s.View, 0) / model.Speed(&s.View, 0); again != off {
		t.Errorf("off by %v, asked again by %v", off, again)
	}
	return off
}

func amount(gpu, cpu int32) cluster.Amount {
	return cluster.Amount{GPUMilli: gpu, CPUMilli: cpu, MemMiB: 4096}
}

func TestProfilesAreOffByModelAndKindOfConfiguration(t *testing.T) {
	model := must.Get(physics.Parse("gpu-type * cpu-mem * sharing(1) * scaling"))(t)
	asked, half := amount(1000, 4000), amount(500, 4000)
	first := stand{"resnet50-64", 4, spread(asked, 4), false, ""}
	for _, c := range []struct {
		name string
		stand
		same bool
	}{
		{"on the reference", stand{"resnet50-64", 4, spread(asked, 4), false, "V100"}, true},
		{"another number of workers, as asked for", stand{"resnet50-64", 2, spread(asked, 2), false, ""}, true},
		{"on two servers, as it needs", stand{"resnet50-64", 8, spread(asked, 4, 4), false, ""}, true},
		{"alone with shares", stand{"resnet50-64", 4, spread(half, 4), false, ""}, true},
		{"another model", stand{"lm-20", 4, spread(asked, 4), false, ""}, false},
		{"on another type", stand{"resnet50-64", 4, spread(asked, 4), false, "P100"}, false},
		{"on two servers", stand{"resnet50-64", 4, spread(asked, 2, 2), false, ""}, false},
		{"fewer workers", stand{"resnet50-64", 4, spread(asked, 2), false, ""}, false},
		{"more workers", stand{"resnet50-64", 2, spread(asked, 4), false, ""}, false},
		{"less CPU", stand{"resnet50-64", 4, spread(amount(1000, 1000), 4), false, ""}, false},
		{"more CPU", stand{"resnet50-64", 4, spread(amount(1000, 5000), 4), false, ""}, false},
		{"beside another", stand{"resnet50-64", 4, spread(half, 4), true, ""}, false},
	} {
		e := physics.Misprofile{Within: 0.3, Seed: 7}
		want, got := first.error(t, e, model), c.error(t, e, model)
		if same := math.Abs(want-got) < 1e-12; same != c.same {
			t.Errorf("%s: off by %v, as asked for by %v: the same is %v, want %v", c.name, got, want, same, c.same)
		}
	}
	if got := (&stand{"unheard of", 4, spread(asked, 4), false, ""}).error(t, physics.Misprofile{Within: 0.3}, model); got != 1 {
		t.Errorf("a model that no profile knows is off by %v, want 1", got)
	}
}

func TestErrorsOfProfilesAreLogUniform(t *testing.T) {
	as := stand{"resnet50-64", 4, spread(amount(1000, 4000), 4), false, ""}
	const n = 2000
	low, quarters := math.Log(1/1.3), [4]int{}
	for seed := range uint64(n) {
		x := (math.Log(as.error(t, physics.Misprofile{Within: 0.3, Seed: seed}, physics.Ideal())) - low) / (-2 * low)
		if x < -1e-12 || x >= 1 {
			t.Fatalf("seed %d: at %v of the range, want 0 to 1", seed, x)
		}
		quarters[max(int(4*x), 0)]++
	}
	for i, k := range quarters {
		if k < n/4-100 || k > n/4+100 { // five standard deviations
			t.Errorf("%d of %d errors are in quarter %d, want about a quarter", k, n, i)
		}
	}
}

func TestNoErrorIsTheProfile(t *testing.T) {
	model := must.Get(physics.Parse("cpu-mem * sharing(1) * jitter(0.2)"))(t)
	none := physics.Misprofile{Seed: 3}.Profiled(model)
	if !cluster.SameProfile(none, physics.Profiled(model)) {
		t.Errorf("without an error %v is told, want %v", none, physics.Profiled(model))
	}
	a, b := physics.Misprofile{0.3, 3}.Profiled(model), physics.Misprofile{0.3, 4}.Profiled(model)
	if !cluster.SameProfile(a, physics.Misprofile{0.3, 3}.Profiled(model)) || cluster.SameProfile(a, b) {
		t.Error("want profiles that are equal with equal seeds, and else not")
	}
}

// TestErrorsOfProfilesAreCoupled checks that Coupled includes every job whose reported speed changes because of a placement.
func TestErrorsOfProfilesAreCoupled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		told := physics.Misprofile{Within: 0.3, Seed: rapid.Uint64().Draw(t, "seed")}.Profiled(physics.Ideal())
		s := must.Get(cluster.NewState(cluster.Uniform(1, 2), 4))(t)
		half := cluster.Amount{GPUMilli: 500}
		tx := s.Begin(nil)
		for id := range cluster.JobID(4) {
			workers := rapid.Int32Range(1, 2).Draw(t, "workers")
			name := rapid.SampledFrom(profile.Names()).Draw(t, "model")
			s.Submit(id, &cluster.JobSpec{Name: "j", Model: name, Workers: workers, Request: half})
			var before []float64
			for other := range id {
				if s.Phase(other) == cluster.Running {
					before = append(before, told.Speed(&s.View, other))
				} else {
					before = append(before, 0)
				}
			}
			on := spread(half, workers)
			if tx.Place(id, on) != nil {
				continue
			}
			coupled := map[cluster.JobID]bool{}
			for _, other := range told.Coupled(&s.View, on, nil) {
				coupled[other] = true
			}
			for other, v := range before {
				if v > 0 && told.Speed(&s.View, cluster.JobID(other)) != v && !coupled[cluster.JobID(other)] {
					t.Fatalf("job %d is told another speed and is not coupled", other)
				}
			}
		}
	})
}
