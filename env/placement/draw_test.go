package placement_test

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

const everything = "gpu-type * cpu-mem * sharing(0.3) * scaling * network(12.5,1.25,40)"

// flexible returns one of the placers that may change the amounts of jobs, with random settings.
func flexible(t *rapid.T) placement.Placer {
	tune := placement.DefaultTune()
	tune.Resize, tune.Gain = rapid.Bool().Draw(t, "resize"), 0.01
	tune.Reserve = rapid.SampledFrom([]float64{0, 1}).Draw(t, "reserve")
	pack := placement.DefaultPack()
	pack.Trim, pack.Shorter = rapid.Bool().Draw(t, "trim"), rapid.Bool().Draw(t, "shorter")
	menu := placement.DefaultMenu()
	menu.Tune, menu.Price = tune, rapid.SampledFrom([]float64{0, 0.1, 2}).Draw(t, "price")
	menu.Places = rapid.IntRange(0, 3).Draw(t, "places")
	menu.Amounts, menu.Wait = rapid.Bool().Draw(t, "amounts"), rapid.Bool().Draw(t, "wait")
	return rapid.SampledFrom([]placement.Placer{placement.NewTune(tune), placement.NewPack(pack), placement.NewMenu(menu)}).Draw(t, "placer")
}

// drawConfig draws a small cluster, with or without CPU, memory, GPU types, GPU memory and quotas, and physics.
func drawConfig(t *rapid.T) sim.Config {
	spec := cluster.Uniform(rapid.IntRange(1, 4).Draw(t, "servers"), rapid.IntRange(1, 4).Draw(t, "GPUs"))
	spec.PerGPU = rapid.Int32Range(0, 2).Draw(t, "per GPU")
	limits, memory, types := rapid.Bool().Draw(t, "limits"), rapid.Bool().Draw(t, "GPU memory"), rapid.Bool().Draw(t, "types")
	for i := range spec.Servers {
		v := &spec.Servers[i]
		v.Rack = int32(i) / 2
		if limits {
			v.CPUMilli = 1000 * rapid.Int64Range(1, 4*int64(v.GPUs)).Draw(t, "cores")
			v.MemMiB = 16 << 10 * rapid.Int64Range(1, 4*int64(v.GPUs)).Draw(t, "memory")
		}
		if memory {
			v.GPUMemMiB = 16 << 10
		}
		if v.GPUType = "V100"; types {
			v.GPUType = rapid.SampledFrom([]string{"V100", "K80"}).Draw(t, "type")
		}
	}
	if rapid.Bool().Draw(t, "quota") {
		spec.Quotas = []cluster.Quota{{Tenant: "a", GPUs: 2}}
	}
	return sim.Config{Cluster: spec, Physics: drawPhysics(t), Restart: sim.Pause(time.Second)}
}

func drawPhysics(t *rapid.T) physics.Model {
	name := rapid.SampledFrom([]string{
		"ideal", "cpu-mem", "sharing(1)", "cpu-mem * sharing(0.3)", "scaling * cpu-mem * inter-server(0.5) * gpu-type",
		everything, everything + " * jitter(0.2)",
	}).Draw(t, "physics")
	m, err := physics.Parse(name)
	if err != nil {
		panic(err)
	}
	return m
}

// drawJobs draws jobs that the empty cluster can hold.
func drawJobs(t *rapid.T, c *cluster.Spec, n int) []trace.Job {
	jobs := make([]trace.Job, n)
	estimates := rapid.Bool().Draw(t, "estimates")
	for i := range jobs {
		j := &jobs[i]
		j.Name = fmt.Sprint(i)
		j.Submit = time.Duration(rapid.IntRange(0, 30).Draw(t, "submit")) * time.Second
		j.Work = time.Duration(rapid.IntRange(1, 60).Draw(t, "work")) * time.Second
		if estimates {
			j.Estimate = j.Work * time.Duration(rapid.IntRange(1, 3).Draw(t, "error"))
		}
		j.Model = rapid.SampledFrom([]string{"", "resnet18-32", "lm-20", "a3c", "bert-large", "resnet50-16"}).Draw(t, "model")
		j.Tenant = rapid.SampledFrom([]string{"", "a"}).Draw(t, "tenant")
		j.Request = cluster.Amount{
			GPUMilli:  rapid.SampledFrom([]int32{1000, 1000, 1000, 500, 250}).Draw(t, "GPU milli"),
			CPUMilli:  rapid.SampledFrom([]int32{0, 125, 1000, 3000}).Draw(t, "CPU milli"),
			MemMiB:    rapid.SampledFrom([]int32{0, 16 << 10, 40 << 10}).Draw(t, "MiB"),
			GPUMemMiB: rapid.SampledFrom([]int32{0, 2 << 10, 10 << 10}).Draw(t, "GPU MiB"),
		}
		j.Workers = rapid.Int32Range(1, 6).Draw(t, "workers")
		if j.Tensor = rapid.SampledFrom([]int32{0, 0, 0, 2}).Draw(t, "tensor"); j.Tensor > 0 {
			j.Workers += j.Workers % 2
		}
		fit(c, j)
		if j.Tensor == 0 && rapid.Bool().Draw(t, "elastic") {
			j.MinWorkers, j.MaxWorkers = (j.Workers+1)/2, 2*j.Workers
		}
	}
	return jobs
}

// fit reduces a job's workers or amounts until the empty cluster can hold it.
func fit(c *cluster.Spec, j *trace.Job) {
	for c.Capacity(&j.JobSpec) < int64(j.Workers) {
		switch {
		case j.Workers > 1:
			j.Workers, j.Tensor = j.Workers-1, 0
		case j.Request.CPUMilli > 0:
			j.Request.CPUMilli /= 2
		default:
			j.Request.MemMiB /= 2
		}
	}
}

// state returns a cluster with the jobs pending.
func state(t rapid.TB, cfg *sim.Config, jobs []trace.Job) *cluster.State {
	s := must.Get(cluster.NewState(cfg.Cluster, len(jobs)))(t)
	s.SetProfile(physics.Profiled(cfg.Physics))
	for i := range jobs {
		s.Submit(cluster.JobID(i), &jobs[i].JobSpec)
	}
	return s
}
