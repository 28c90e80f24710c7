package sim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

func TestNewErrors(t *testing.T) {
	one := cluster.Amount{GPUMilli: cluster.WholeGPU}
	job := func(change func(*trace.Job)) trace.Job {
		j := trace.Job{JobSpec: cluster.JobSpec{Name: "a", Workers: 2, Request: one}, Work: time.Second}
		change(&j)
		return j
	}
	for _, c := range []struct {
		name string
		cfg  sim.Config
		job  trace.Job
		want string
	}{
		{"more GPUs than there are", sim.Config{}, job(func(j *trace.Job) { j.Workers = 5 }), "the empty cluster takes 4"},
		{"negative work", sim.Config{}, job(func(j *trace.Job) { j.Work = -1 }), "work -1ns"},
		{"negative submit", sim.Config{}, job(func(j *trace.Job) { j.Submit = -1 }), "submit -1ns"},
		{"negative overhead", sim.Config{Restart: sim.Pause(-1)}, job(func(*trace.Job) {}), "preemption -1ns"},
		{"no servers", sim.Config{Cluster: cluster.Spec{Servers: []cluster.ServerSpec{}}}, job(func(*trace.Job) {}), "no servers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.cfg.Cluster.Servers == nil {
				c.cfg.Cluster = cluster.Uniform(2, 2)
			}
			if _, err := sim.New(c.cfg, []trace.Job{c.job}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestEndOfTime checks that a job that would outlast the clock keeps running, and that the episode is truncated with that reason
// instead of overflowing, unless its horizon comes first.
func TestEndOfTime(t *testing.T) {
	two := cluster.JobSpec{Name: "a", Workers: 2, Request: cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: 1}}
	cfg := sim.Config{Cluster: cluster.Uniform(2, 2), Physics: physics.Compose(physics.InterServer{Penalty: 9e5})}
	cfg.Cluster.Servers[0].CPUMilli, cfg.Cluster.Servers[1].CPUMilli = 1, 1
	log := play(t, cfg, []trace.Job{{JobSpec: two, Work: 100 * 365 * 24 * time.Hour}}, drawFIFO(t), 0)
	if got := log.Outcome.Truncated; got != "1 jobs run past the end of time" {
		t.Errorf("outcome %+v", log.Outcome)
	}
	cfg.Horizon = time.Hour
	log = play(t, cfg, []trace.Job{{JobSpec: two, Work: 100 * 365 * 24 * time.Hour}}, drawFIFO(t), 0)
	if got := log.Records[len(log.Records)-1]; log.Outcome.Truncated != "horizon 1h0m0s" || got.At != time.Hour {
		t.Errorf("with a horizon: %+v at %v", log.Outcome, got.At)
	}
}
