package physics_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

func TestThroughput(t *testing.T) {
	half := cluster.Amount{GPUMilli: 500}
	f := profile.Lookup("resnet50-64")
	for _, c := range []struct {
		name string
		m    physics.Model
		spec cluster.JobSpec
		want float64
	}{
		{"two workers", physics.Ideal(), cluster.JobSpec{Model: "resnet50-64", Workers: 2, Request: cluster.Amount{GPUMilli: 1000}},
			2 / f.ComputeSeconds()},
		{"on halves of GPUs", physics.Ideal(), cluster.JobSpec{Model: "resnet50-64", Workers: 2, Request: half}, 1 / f.ComputeSeconds()},
		{"on time-sliced GPUs", physics.Compose(physics.Sharing{Strength: 1}),
			cluster.JobSpec{Model: "resnet50-64", Workers: 2, Request: half}, 2 / f.ComputeSeconds()},
		{"with scaling", physics.Compose(physics.Scaling{}),
			cluster.JobSpec{Model: "resnet50-64", Workers: 8, Request: cluster.Amount{GPUMilli: 1000}},
			f.Throughput(2, 8) / f.ComputeSeconds()},
		{"with few cores", physics.Compose(physics.CPUMem{}),
			cluster.JobSpec{Model: "resnet50-64", Workers: 1, Request: cluster.Amount{GPUMilli: 1000, CPUMilli: 1000, MemMiB: 64_000}},
			f.CPUMem(1, 62.5) / f.ComputeSeconds()},
		{"with diminishing returns", physics.Compose(physics.Diminishing{Gain: 0.8}),
			cluster.JobSpec{Model: "resnet50-64", Workers: 4, MinWorkers: 2, Request: cluster.Amount{GPUMilli: 1000}},
			3.6 / f.ComputeSeconds()},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := state(t, cluster.Uniform(2, 4), &c.spec)
			if got := physics.Throughput(c.m, &s.View, 0); math.Abs(got-c.want) > 1e-12*c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestThroughputsCompare checks that two jobs of the same model have equal throughputs in equal placements, whatever they asked
// for.
func TestThroughputsCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, m := drawSpec(t, "a"), every()
		a.Stages, a.Tensor, a.MinWorkers, a.MaxWorkers = 0, 0, 1, 16
		a.Request.CPUMilli, a.Request.MemMiB = 3000, 64_000
		b := a
		b.Name, b.Workers = "b", rapid.Int32Range(1, 16).Draw(t, "other workers")
		b.Request.CPUMilli, b.Request.MemMiB = rapid.Int32Range(500, 9000).Draw(t, "other CPU"), rapid.Int32Range(1000, 99_000).Draw(t, "other MiB")
		if a.Model == "" {
			a.Model, b.Model = "unheard of", "unheard of"
		}
		p := scatter(t, &a)
		measure := func(spec *cluster.JobSpec) float64 {
			s := state(t, cluster.Uniform(4, 4), spec)
			must.Do(t, s.Begin(nil).Place(0, p))
			return m.Speed(&s.View, 0) * physics.Throughput(m, &s.View, 0)
		}
		if one, two := measure(&a), measure(&b); !(math.Abs(one-two) <= 1e-9*one) {
			t.Fatalf("%+v has the throughput %v, and %+v %v on %v", a, one, b, two, p)
		}
	})
}

// TestThroughputOfUnknownModels checks that throughputs of unknown models differ widely, so that they do not show how fast a job
// is relative to its request.
func TestThroughputOfUnknownModels(t *testing.T) {
	low, high, sum := math.Inf(1), 0.0, 0.0
	const jobs = 1000
	for i := range jobs {
		spec := cluster.JobSpec{Name: fmt.Sprint("job-", i), Workers: 3, Request: cluster.Amount{GPUMilli: 1000}}
		s := state(t, cluster.Uniform(1, 4), &spec)
		rate := physics.Throughput(physics.Compose(physics.CPUMem{}, physics.Scaling{}), &s.View, 0) / 3
		low, high, sum = min(low, rate), max(high, rate), sum+math.Log10(rate)
	}
	if low < 0.1 || low > 0.11 || high > 10 || high < 9 || math.Abs(sum/jobs) > 0.05 {
		t.Errorf("from %v to %v with the mean logarithm %v, want 0.1, 10 and 0", low, high, sum/jobs)
	}
}
