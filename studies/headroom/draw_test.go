package headroom

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/policy"
	"pgregory.net/rapid"
)

// drawEpisode draws a few servers and jobs with all features of the simulator: gangs, shares, elastic jobs, GPU types, cores and
// memory, restarts, failures, loans and warm jobs.
func drawEpisode(t *rapid.T) sim.Episode {
	cfg := sim.Config{Cluster: drawCluster(t), Physics: drawPhysics(t)}
	seconds := func(name string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Second
	}
	cfg.Restart = sim.Restart{
		Preempt: seconds("preempt", 60), Migrate: seconds("migrate", 60), Resize: seconds("resize", 60),
		FromScratch: rapid.IntRange(0, 3).Draw(t, "from scratch") == 0,
	}
	if rapid.Bool().Draw(t, "checkpoints") {
		cfg.Restart.Interval, cfg.Restart.Save = time.Second+seconds("interval", 600), seconds("save", 60)
	}
	if rapid.Bool().Draw(t, "failures") {
		from := seconds("fails", 1000)
		cfg.Outages = []sim.Outage{{From: from, To: from + time.Second + seconds("for", 600), GPU: rapid.Int32Range(-1, 0).Draw(t, "GPU")}}
	}
	pool := int32(0)
	for i := range cfg.Cluster.Servers {
		if cfg.Cluster.Servers[i].Pool == cluster.Inference {
			pool++
		}
	}
	cfg.Grace = seconds("grace", 100)
	at := time.Duration(0)
	for range rapid.IntRange(0, 3).Draw(t, "demands") {
		cfg.Demand = append(cfg.Demand, sim.Demand{At: at, Need: 500, Offer: rapid.Int32Range(0, pool).Draw(t, "offer")})
		at += time.Second + seconds("demand after", 1000)
	}
	e := sim.Episode{Config: cfg}
	for i := range rapid.IntRange(1, 10).Draw(t, "jobs") {
		if j, ok := drawJob(t, &cfg, i); ok {
			e.Jobs = append(e.Jobs, j)
		}
	}
	e.Config.Warm = rapid.IntRange(0, len(e.Jobs)/3).Draw(t, "warm")
	for i := range e.Config.Warm {
		e.Jobs[i].Submit = 0
	}
	return e
}

func drawCluster(t *rapid.T) cluster.Spec {
	spec := cluster.Uniform(rapid.IntRange(1, 4).Draw(t, "servers"), rapid.IntRange(1, 4).Draw(t, "GPUs"))
	spec.PerGPU = rapid.SampledFrom([]int32{0, 1, 2, 2, 3}).Draw(t, "jobs per GPU")
	types := rapid.SampledFrom([][]string{{""}, {"V100"}, {"V100", "T4"}, {"K80", "A100"}}).Draw(t, "types")
	rich := rapid.Bool().Draw(t, "cores")
	for i := range spec.Servers {
		v := &spec.Servers[i]
		v.GPUType = rapid.SampledFrom(types).Draw(t, "type")
		v.Rack = rapid.Int32Range(0, 2).Draw(t, "rack")
		if !rich {
			v.CPUMilli, v.MemMiB = int64(v.GPUs)*6000, int64(v.GPUs)*64000
		}
		v.GPUMemMiB = rapid.SampledFrom([]int32{0, 16 << 10, 32 << 10}).Draw(t, "memory of GPUs")
		if i > 0 && rapid.IntRange(0, 3).Draw(t, "pool") == 0 {
			v.Pool = cluster.Inference
		}
	}
	return spec
}

func drawPhysics(t *rapid.T) physics.Model {
	parts := []physics.Part{
		physics.GPUType{}, physics.CPUMem{}, physics.Scaling{}, physics.InterServer{Penalty: 0.5},
		physics.Sharing{Strength: rapid.SampledFrom([]float64{0, 0.1, 0.3, 1}).Draw(t, "strength")},
		physics.Diminishing{Gain: 0.8}, physics.NewNetwork(12.5, 1.25, 1.25), physics.Jitter{Sigma: 0.3}, physics.Power{Watts: 900},
		physics.NewInterleaved(12.5, 1.25, 0.5),
	}
	chosen := rapid.Uint16().Draw(t, "parts")
	if rapid.IntRange(0, 3).Draw(t, "the usual") == 0 {
		chosen = 0b01010111
	}
	some := parts[:0]
	for i, p := range parts {
		if chosen>>i&1 == 1 {
			some = append(some, p)
		}
	}
	return physics.Compose(some...)
}

func drawJob(t *rapid.T, cfg *sim.Config, i int) (j trace.Job, ok bool) {
	j.Name = fmt.Sprint(i)
	j.Submit = time.Duration(rapid.IntRange(0, 20).Draw(t, "submit")) * 30 * time.Second
	j.Work = time.Duration(rapid.IntRange(0, 2000).Draw(t, "work")) * time.Second
	j.Estimate = max(j.Work, 1)
	j.Model = rapid.SampledFrom(append(profile.Names(), "", "unheard of")).Draw(t, "model")
	j.Request = cluster.Amount{
		GPUMilli:  rapid.SampledFrom([]int32{1000, 1000, 500, 300}).Draw(t, "GPU milli"),
		CPUMilli:  rapid.SampledFrom([]int32{0, 1500, 3000}).Draw(t, "CPU milli"),
		MemMiB:    rapid.SampledFrom([]int32{0, 20_000, 40_000}).Draw(t, "MiB"),
		GPUMemMiB: rapid.SampledFrom([]int32{0, 4000, 12_000}).Draw(t, "MiB on the GPU"),
	}
	j.GPUType = rapid.SampledFrom([]string{"", "", "V100", "T4|A100|K80"}).Draw(t, "type wanted")
	j.Mixed = rapid.IntRange(0, 3).Draw(t, "mixed") == 0
	training := cfg.Cluster // jobs must fit on the training servers, so that they finish without loans
	training.Servers = nil
	for _, v := range cfg.Cluster.Servers {
		if v.Pool == cluster.Training {
			training.Servers = append(training.Servers, v)
		}
	}
	most := int32(min(training.Capacity(&j.JobSpec), 6))
	if most < 1 {
		return j, false
	}
	j.Workers = rapid.Int32Range(1, most).Draw(t, "workers")
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		j.MinWorkers, j.MaxWorkers = rapid.Int32Range(1, j.Workers).Draw(t, "least"), j.Workers+rapid.Int32Range(0, 3).Draw(t, "more")
	case 1:
		j.Stages = j.Workers
	}
	return j, true
}

// everyPolicy lists all baselines, each also with the menu if it supports one, and each also with loans.
func everyPolicy() []policy.Policy {
	var policies []policy.Policy
	add := func(name string) {
		policies = append(policies, policy.Policy{Name: name, New: func() (cluster.Scheduler, error) { return all.New(name) }})
	}
	for _, b := range all.Table().All() {
		for _, suffix := range []string{"", baselines.LoanSuffix} {
			add(b.Name + suffix)
			if b.Orders() {
				add(b.Name + baselines.MenuSuffix + suffix)
			}
		}
	}
	return policies
}
