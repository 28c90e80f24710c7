package asrpt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// models contains model families that communicate much and little, and none.
var models = []string{"", "resnet50-64", "bert-large", "gpt2-1.5b"}

// told is a predictor that predicts the estimate times scale, even if that is less than an iteration.
type told struct{ scale float64 }

func (told) Name() string                      { return "told" }
func (told) Reset(uint64)                      {}
func (told) Observe(*cluster.JobSpec, float64) {}
func (p told) Predict(spec *cluster.JobSpec) (float64, bool) {
	return p.scale * spec.Estimate.Seconds() / physics.IterationSeconds(spec), false
}

// learning predicts the mean of what it has observed. It panics if a job is predicted after it was observed, or observed twice.
type learning struct {
	sum, seen float64
	asked     map[string]int // by name: 1 predicted, 2 observed
}

func (*learning) Name() string   { return "learning" }
func (p *learning) Reset(uint64) { *p = learning{asked: map[string]int{}} }
func (p *learning) Predict(spec *cluster.JobSpec) (float64, bool) {
	if p.asked[spec.Name] == 2 {
		panic("predicted after it was observed")
	}
	p.asked[spec.Name] = 1
	if p.seen == 0 {
		return 20, true
	}
	return max(p.sum/p.seen, 1), false
}

func (p *learning) Observe(spec *cluster.JobSpec, n float64) {
	if p.asked[spec.Name] == 2 {
		panic("observed twice")
	}
	p.asked[spec.Name] = 2
	p.sum, p.seen = p.sum+n, p.seen+1
}

const network = "network(12.5,1.25,40)"

// drawConfig draws a cluster. In most draws, communication between servers slows jobs down.
func drawConfig(t *rapid.T) sim.Config {
	model := physics.Ideal()
	if rapid.IntRange(0, 3).Draw(t, "communicates") > 0 {
		var err error
		if model, err = physics.Parse(network); err != nil {
			panic(err)
		}
	}
	restart := sim.Pause(time.Duration(rapid.SampledFrom([]int{0, 0, 3, 40}).Draw(t, "overhead")) * time.Second)
	return sim.Config{
		Cluster: cluster.Uniform(rapid.IntRange(1, 4).Draw(t, "servers"), rapid.IntRange(1, 4).Draw(t, "GPUs a server")),
		Physics: model, Restart: restart,
	}
}

// drawJobs draws jobs, half of them with wrong estimates. Some communicate, some have pipeline stages.
func drawJobs(t *rapid.T, gpus, most int) []trace.Job {
	jobs := make([]trace.Job, rapid.IntRange(0, most).Draw(t, "jobs"))
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.Request.GPUMilli = fmt.Sprint(i), cluster.WholeGPU
		j.Submit, j.Work = simtest.Seconds(t, "submit", 0, 60), simtest.Seconds(t, "work", 1, 50)
		j.Estimate = j.Work
		if rapid.Bool().Draw(t, "wrong") {
			j.Estimate = simtest.Seconds(t, "estimate", 1, 50)
		}
		j.Workers = int32(rapid.IntRange(1, min(gpus, 6)).Draw(t, "workers"))
		j.Model = rapid.SampledFrom(models).Draw(t, "model")
		if j.Workers%2 == 0 && rapid.Bool().Draw(t, "in stages") {
			j.Stages = 2
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "differ") == 0 {
		for i := range jobs {
			j := &jobs[i]
			j.Workers, j.Model, j.Stages = jobs[0].Workers, jobs[0].Model, jobs[0].Stages
		}
	}
	return jobs
}

// harden adds features of real clusters: small servers, shares, GPU types, quotas, tensor parallelism, an inference pool,
// failures. Every job still fits the empty cluster.
func harden(t *rapid.T, cfg *sim.Config, jobs []trace.Job) {
	some := func(name string) bool { return rapid.Bool().Draw(t, name) }
	if some("small servers") {
		for i := range cfg.Cluster.Servers {
			if v := &cfg.Cluster.Servers[i]; some("small server") {
				v.CPUMilli, v.MemMiB = 6, 6
			}
		}
	}
	if some("types") {
		for i := range cfg.Cluster.Servers {
			cfg.Cluster.Servers[i].GPUType = rapid.SampledFrom([]string{"V100", "T4"}).Draw(t, "type")
		}
		for i := range jobs {
			jobs[i].Mixed = some("mixed")
			jobs[i].GPUType = rapid.SampledFrom([]string{"", "V100|T4", cfg.Cluster.Servers[0].GPUType}).Draw(t, "types")
		}
	}
	if some("quotas") {
		cfg.Cluster.Quotas = []cluster.Quota{{Tenant: "a", GPUs: 1}, {Tenant: "b", GPUs: 3}}
		for i := range jobs {
			jobs[i].Tenant = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "tenant")
		}
	}
	shares := some("shares")
	for i := range jobs {
		j := &jobs[i]
		if shares && j.Stages <= 1 {
			j.Request = cluster.Amount{
				GPUMilli: rapid.SampledFrom([]int32{1000, 1000, 600, 250}).Draw(t, "GPU milli"),
				CPUMilli: rapid.SampledFrom([]int32{0, 0, 3}).Draw(t, "CPU milli"),
				MemMiB:   rapid.SampledFrom([]int32{0, 0, 2}).Draw(t, "MiB"),
			}
		}
		if n := int32(min(int64(j.Workers), cfg.Cluster.Capacity(&j.JobSpec))); n < j.Workers {
			j.Workers, j.Stages = n, 0
		}
		if j.Workers%2 == 0 && j.Stages <= 1 && some("tensor") {
			if j.Tensor = 2; cfg.Cluster.Capacity(&j.JobSpec) < int64(j.Workers) {
				j.Tensor = 0
			}
		}
	}
	simtest.Lend(t, cfg, 2)
	simtest.Break(t, cfg)
}

// drawOptions draws options. The function returned gives them with a fresh predictor and placer at each call.
func drawOptions(t *rapid.T) func() Config {
	c := Default()
	c.Start = rapid.SampledFrom(StartRules()).Draw(t, "start")
	c.Backfill = rapid.SampledFrom(Backfills()).Draw(t, "backfill")
	c.Tau = rapid.SampledFrom([]float64{0, 0.5, 2}).Draw(t, "tau")
	c.Theta = rapid.SampledFrom([]float64{1, 1.5, 5}).Draw(t, "theta")
	c.Epsilon = rapid.SampledFrom([]float64{0, 0.1, 2}).Draw(t, "epsilon")
	learns := rapid.Bool().Draw(t, "learns")
	placer := rapid.IntRange(0, 2).Draw(t, "placer")
	return func() Config {
		c := c
		c.Predictor = told{1}
		if learns {
			c.Predictor = &learning{}
		}
		switch placer {
		case 1:
			c.Placer = NewHeavyEdge()
		case 2:
			c.Placer = &placement.BestFit{}
		}
		return c
	}
}

func run(t rapid.TB, cfg sim.Config, jobs []trace.Job, sched cluster.Scheduler, seed uint64) *sim.Log {
	t.Helper()
	s := must.Get(sim.New(cfg, jobs))(t)
	must.Do(t, s.Run(context.Background(), sched, seed))
	return s.Log()
}

func sameTimeline(t rapid.TB, what string, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s: record %d of %d: %s, want %s", what, i, len(want), got[i], want[i])
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
	}
}
