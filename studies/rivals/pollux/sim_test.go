package pollux

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

// drawEpisode draws a cluster with features of real ones, and elastic jobs that it can hold.
func drawEpisode(t *rapid.T) (sim.Config, []trace.Job) {
	second := func(name string, from, to int) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(t, name)) * time.Second
	}
	cfg := sim.Config{
		Cluster: cluster.Uniform(rapid.IntRange(1, 4).Draw(t, "servers"), rapid.IntRange(1, 8).Draw(t, "GPUs a server")),
		Physics: rapid.SampledFrom([]physics.Model{
			physics.Ideal(), physics.Compose(physics.Scaling{}), physics.Compose(physics.InterServer{Penalty: 0.5}),
		}).Draw(t, "physics"),
		Restart: sim.Pause(second("pause", 0, 3)),
	}
	kinds := rapid.Bool().Draw(t, "types")
	for i := range cfg.Cluster.Servers {
		v := &cfg.Cluster.Servers[i]
		if rapid.Bool().Draw(t, "small server") {
			v.CPUMilli, v.MemMiB = 6, 6
		}
		if kinds {
			v.GPUType = rapid.SampledFrom([]string{"V100", "T4"}).Draw(t, "type")
		}
	}
	if rapid.Bool().Draw(t, "quotas") {
		cfg.Cluster.Quotas = []cluster.Quota{{Tenant: "a", GPUs: 1}, {Tenant: "b", GPUs: 3}}
	}
	for at := time.Duration(0); rapid.IntRange(0, 2).Draw(t, "more outages") > 0; {
		from := at + second("fails after", 0, 20)
		at = from + second("repaired after", 1, 20)
		cfg.Outages = append(cfg.Outages, sim.Outage{From: from, To: at, GPU: -1,
			Server: cluster.ServerID(rapid.IntRange(0, len(cfg.Cluster.Servers)-1).Draw(t, "which"))})
	}
	models := append(profile.Names()[:4], "")
	jobs := make([]trace.Job, rapid.IntRange(0, 12).Draw(t, "jobs"))
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.Model = fmt.Sprint(i), rapid.SampledFrom(models).Draw(t, "model")
		j.Submit, j.Work = second("submit", 0, 60), second("work", 1, 50)
		j.Estimate = rapid.SampledFrom([]time.Duration{0, j.Work, 2 * j.Work}).Draw(t, "estimate")
		j.Tenant = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "tenant")
		j.Request = cluster.Amount{
			GPUMilli: rapid.SampledFrom([]int32{1000, 1000, 600, 250}).Draw(t, "GPU milli"),
			CPUMilli: rapid.SampledFrom([]int32{0, 0, 3}).Draw(t, "CPU milli"),
		}
		j.Mixed = rapid.Bool().Draw(t, "mixed")
		j.GPUType = rapid.SampledFrom([]string{"", "V100|T4", cfg.Cluster.Servers[0].GPUType}).Draw(t, "for types")
		j.Workers = 1
		room := cfg.Cluster.Capacity(&j.JobSpec)
		j.Workers = int32(min(int64(rapid.IntRange(1, 6).Draw(t, "workers")), room))
		if rapid.Bool().Draw(t, "elastic") {
			j.MinWorkers = rapid.Int32Range(1, j.Workers).Draw(t, "least")
			j.MaxWorkers = j.Workers + rapid.Int32Range(0, 8).Draw(t, "more")
		}
	}
	jobs = slices.DeleteFunc(jobs, func(j trace.Job) bool { return j.Workers == 0 }) // asks for more than any server has
	return cfg, jobs
}

// play runs an episode and returns all records as lines.
func play(t *rapid.T, cfg sim.Config, jobs []trace.Job, sched cluster.Scheduler) (lines []string, end sim.Outcome) {
	s, err := sim.New(cfg, jobs)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), sched, 1); err != nil {
		t.Fatal(err)
	}
	l := s.Log()
	for i := range l.Records {
		r := &l.Records[i]
		lines = append(lines, fmt.Sprintf("%v %v %d %v", r.At, r.Kind, r.Job, l.Placement(r)))
	}
	return lines, l.Outcome
}

// TestPolluxFinishesAllJobs checks that with the scheduler Pollux finishes every job that the cluster can hold, and gives the same
// schedule again after Reset.
func TestPolluxFinishesAllJobs(t *testing.T) {
	c := Default()
	c.Population, c.Generations = 10, 10
	p := New(c)
	rapid.Check(t, func(t *rapid.T) {
		cfg, jobs := drawEpisode(t)
		c := elastic.Literal()
		c.Epoch = rapid.SampledFrom([]time.Duration{0, 7 * time.Second}).Draw(t, "epoch")
		sched := elastic.New(p.Name(), p, c)
		first, end := play(t, cfg, jobs, sched)
		if !end.Terminated {
			t.Fatalf("outcome %+v, want every job finished; %q", end, first)
		}
		if again, _ := play(t, cfg, jobs, sched); !slices.Equal(first, again) {
			t.Fatalf("schedule\n%q, after Reset\n%q", first, again)
		}
	})
}
