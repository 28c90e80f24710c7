package baselines

import (
	"context"
	"fmt"
	"testing"
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

// plainSRTF returns srtf as it is by default.
func plainSRTF() *srtf {
	return newSRTF(preemptive{name: "srtf", order: leftWith, plan: plan{place: &placement.BestFit{}}})
}

// newPlain returns srtf implemented by sorting all live jobs at every decision point.
func newPlain() cluster.Scheduler {
	return &preemptive{name: "srtf", order: leftWith, plan: plan{place: &placement.BestFit{}}}
}

// TestSRTFEqualsPlan checks that the fast path of srtf and the plain plan give the same schedule, record by record.
func TestSRTFEqualsPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(1, 25).Draw(t, "jobs"))
		simtest.Break(t, &cfg)
		fast := plainSRTF()
		got, want := timeline(t, cfg, jobs, fast), timeline(t, cfg, jobs, newPlain())
		if fast.planned {
			t.Fatal("the fast path was not taken")
		}
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("record %d of %d: %s, want %s", i, len(want), got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d records, want %d", len(got), len(want))
		}
	})
}

func drawConfig(t *rapid.T) sim.Config {
	n := rapid.IntRange(1, 4).Draw(t, "servers")
	restart := sim.Pause(time.Duration(rapid.SampledFrom([]int{0, 0, 3, 40}).Draw(t, "overhead")) * time.Second)
	restart.FromScratch = rapid.IntRange(0, 3).Draw(t, "keeps work") == 0
	return sim.Config{
		Cluster: cluster.Uniform(n, rapid.IntRange(1, 4).Draw(t, "GPUs a server")),
		Physics: rapid.SampledFrom([]physics.Model{physics.Ideal(), physics.Compose(physics.InterServer{Penalty: 0.5})}).Draw(t, "physics"),
		Restart: restart,
	}
}

// drawJobs draws jobs of whole GPUs with many ties, half of them with wrong estimates.
func drawJobs(t *rapid.T, gpus, n int) []trace.Job {
	jobs := make([]trace.Job, n)
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.Request.GPUMilli = fmt.Sprint(i), cluster.WholeGPU
		j.Submit, j.Work = simtest.Seconds(t, "submit", 0, 60), simtest.Seconds(t, "work", 1, 50)
		j.Estimate = j.Work
		if rapid.Bool().Draw(t, "wrong") {
			j.Estimate = simtest.Seconds(t, "estimate", 1, 50)
		}
		j.Workers = int32(rapid.IntRange(1, min(gpus, 6)).Draw(t, "workers"))
	}
	return jobs
}

// timeline returns all records of the event log, with placements.
func timeline(t rapid.TB, cfg sim.Config, jobs []trace.Job, sched cluster.Scheduler) []string {
	t.Helper()
	l := run(t, cfg, jobs, sched, 1)
	lines := make([]string, len(l.Records))
	for i := range l.Records {
		r := &l.Records[i]
		lines[i] = fmt.Sprintf("%v %v %d %v", r.At, r.Kind, r.Job, l.Placement(r))
	}
	return lines
}

func run(t rapid.TB, cfg sim.Config, jobs []trace.Job, sched cluster.Scheduler, seed uint64) *sim.Log {
	t.Helper()
	s := must.Get(sim.New(cfg, jobs))(t)
	must.Do(t, s.Run(context.Background(), sched, seed))
	return s.Log()
}
