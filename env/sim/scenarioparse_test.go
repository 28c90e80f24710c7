package sim_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// parseScenario reads lines such as
//
//	servers 2x8 type=T4 rack=1            (2 servers of 8 GPUs each; "inference 2x8" for servers of the inference pool)
//	physics gpu-type * inter-server(0.5)
//	overhead 10s                          (preempt, migrate and resize together; or one of these words instead)
//	checkpoint interval=60s save=6s
//	from-scratch
//	outage 0 from=20s to=50s gpu=1
//	demand 10s need=500 offer=1
//	grace 30s
//	horizon 90s
//	readings 60s
//	job a submit=0s workers=8 work=60s min=1 max=16 share=500 cpu=3000 mem=64000 model=gpt2-1.5b stages=2 tensor=2 type=T4 mixed=1
func parseScenario(t *testing.T, text string) (cfg sim.Config, jobs []trace.Job) {
	t.Helper()
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		o := options{t: t, line: line, of: map[string]string{}}
		for _, word := range f[1:] {
			if key, value, ok := strings.Cut(word, "="); ok {
				o.of[key] = value
			}
		}
		switch f[0] {
		case "servers", "inference":
			cfg.Cluster.Servers = append(cfg.Cluster.Servers, o.servers(f[1], f[0] == "inference")...)
		case "physics":
			m, err := physics.Parse(strings.Join(f[1:], " "))
			o.check(err)
			cfg.Physics = m
		case "overhead":
			r := sim.Pause(o.parse(f[1]))
			cfg.Restart.Preempt, cfg.Restart.Migrate, cfg.Restart.Resize = r.Preempt, r.Migrate, r.Resize
		case "preempt":
			cfg.Restart.Preempt = o.parse(f[1])
		case "migrate":
			cfg.Restart.Migrate = o.parse(f[1])
		case "resize":
			cfg.Restart.Resize = o.parse(f[1])
		case "checkpoint":
			cfg.Restart.Interval, cfg.Restart.Save = o.time("interval"), o.time("save")
		case "from-scratch":
			cfg.Restart.FromScratch = true
		case "outage":
			gpu := int32(-1)
			if _, ok := o.of["gpu"]; ok {
				gpu = o.number("gpu")
			}
			server, err := strconv.Atoi(f[1])
			o.check(err)
			cfg.Outages = append(cfg.Outages, sim.Outage{
				From: o.time("from"), To: o.time("to"), Server: cluster.ServerID(server), GPU: gpu,
			})
		case "demand":
			cfg.Demand = append(cfg.Demand, sim.Demand{At: o.parse(f[1]), Need: int64(o.number("need")), Offer: o.number("offer")})
		case "grace":
			cfg.Grace = o.parse(f[1])
		case "readings":
			cfg.Readings.Interval = o.parse(f[1])
		case "horizon":
			cfg.Horizon = o.parse(f[1])
		case "job":
			jobs = append(jobs, o.job(f[1]))
		default:
			t.Fatalf("scenario line %q", line)
		}
		for key := range o.of {
			t.Fatalf("scenario line %q: %q", line, key)
		}
	}
	return cfg, jobs
}

// options contains the words key=value of a line. Reading a word removes it.
type options struct {
	t    *testing.T
	line string
	of   map[string]string
}

func (o *options) check(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatalf("scenario line %q: %v", o.line, err)
	}
}

func (o *options) take(key string) string {
	v := o.of[key]
	delete(o.of, key)
	return v
}

func (o *options) parse(text string) time.Duration {
	d, err := time.ParseDuration(text)
	o.check(err)
	return d
}

func (o *options) time(key string) time.Duration {
	if v := o.take(key); v != "" {
		return o.parse(v)
	}
	return 0
}

func (o *options) number(key string) int32 {
	v := o.take(key)
	if v == "" {
		return 0
	}
	n, err := strconv.ParseInt(v, 10, 32)
	o.check(err)
	return int32(n)
}

func (o *options) servers(size string, inference bool) []cluster.ServerSpec {
	var n, gpus int
	_, err := fmt.Sscanf(size, "%dx%d", &n, &gpus)
	o.check(err)
	all := cluster.Uniform(n, gpus).Servers
	kind, rack := o.take("type"), o.number("rack")
	for i := range all {
		all[i].GPUType, all[i].Rack = kind, rack
		if inference {
			all[i].Pool = cluster.Inference
		}
	}
	return all
}

func (o *options) job(name string) trace.Job {
	j := trace.Job{JobSpec: cluster.JobSpec{Name: name, Submit: o.time("submit")}, Work: o.time("work")}
	j.Estimate = j.Work
	j.Workers, j.MinWorkers, j.MaxWorkers = o.number("workers"), o.number("min"), o.number("max")
	j.Request = cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: o.number("cpu"), MemMiB: o.number("mem")}
	if share := o.number("share"); share > 0 {
		j.Request.GPUMilli = share
	}
	j.Stages, j.Tensor = o.number("stages"), o.number("tensor")
	j.Model, j.GPUType, j.Mixed = o.take("model"), o.take("type"), o.take("mixed") != ""
	return j
}
