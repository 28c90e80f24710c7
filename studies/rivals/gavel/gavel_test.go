package gavel

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/loan"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

func server(gpus int32, gpuType string) cluster.ServerSpec {
	return cluster.ServerSpec{
		Name: gpuType, GPUs: gpus, GPUType: gpuType, CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited,
	}
}

func job(submit, work time.Duration, workers int32, model string) trace.Job {
	return trace.Job{Work: work, JobSpec: cluster.JobSpec{
		Submit: submit, Workers: workers, Model: model, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}}
}

// simulate returns what happened, one line per record, and whether all jobs ended.
func simulate(t rapid.TB, cfg sim.Config, jobs []trace.Job, p cluster.Scheduler, seed uint64) (lines []string, ended bool) {
	t.Helper()
	for i := range jobs {
		jobs[i].Name = fmt.Sprint(i)
	}
	s := must.Get(sim.New(cfg, jobs))(t)
	must.Do(t, s.Run(context.Background(), p, seed))
	l := s.Log()
	gpuType := map[cluster.JobID]string{}
	for i := range l.Records {
		if r := &l.Records[i]; len(l.Placement(r)) > 0 {
			now := cfg.Cluster.Servers[l.Placement(r)[0].Server].GPUType
			// A job that may mix types may also spread to several, the first of which is the one that it had.
			if r.Kind == sim.Migrate && gpuType[r.Job] == now && !l.Jobs[r.Job].Mixed {
				t.Fatalf("%v: job %d moves within type %s", r.At, r.Job, now)
			}
			gpuType[r.Job] = now
		}
		if r := &l.Records[i]; r.Kind != sim.Submit && r.Kind != sim.End {
			lines = append(lines, fmt.Sprintf("%v %v %d %v", r.At, r.Kind, r.Job, l.Placement(r)))
		}
	}
	return lines, l.Outcome.Terminated
}

// happened returns the lines without the placements.
func happened(lines []string) (short []string) {
	for _, line := range lines {
		head, _, _ := bytes.Cut([]byte(line), []byte(" ["))
		short = append(short, string(head))
	}
	return short
}

func TestRounds(t *testing.T) {
	const m = time.Minute
	for _, c := range []struct {
		name    string
		servers []cluster.ServerSpec
		jobs    []trace.Job
		want    []string
	}{
		{"two jobs take turns on one GPU", []cluster.ServerSpec{server(1, "")},
			[]trace.Job{job(0, 10*m, 1, ""), job(0, 10*m, 1, "")},
			[]string{
				"0s start 0", "6m0s preempt 0", "6m0s start 1",
				"12m0s preempt 1", "12m0s start 0", "16m0s finish 0", "16m0s start 1", "20m0s finish 1",
			}},
		{"GPUs that come free are used before the round ends", []cluster.ServerSpec{server(1, "")},
			[]trace.Job{job(0, 2*m, 1, ""), job(0, m, 1, "")},
			[]string{"0s start 0", "2m0s finish 0", "2m0s start 1", "3m0s finish 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, ended := simulate(t, sim.Config{Cluster: cluster.Spec{Servers: c.servers}}, c.jobs, New("gavel", Round), 1)
			if got := happened(lines); !ended || !slices.Equal(got, c.want) {
				t.Errorf("schedule %q, want %q", got, c.want)
			}
		})
	}
}

// draw draws a cluster that resembles real ones, and jobs that it can hold when all servers work.
func draw(t *rapid.T) (sim.Config, []trace.Job) {
	pick := func(name string, of ...int32) int32 { return rapid.SampledFrom(of).Draw(t, name) }
	upTo := func(name string, n int) time.Duration {
		return time.Duration(rapid.IntRange(0, n).Draw(t, name)) * time.Second
	}
	var cfg sim.Config
	for range rapid.IntRange(1, 5).Draw(t, "servers") {
		v := server(pick("GPUs", 1, 2, 4), rapid.SampledFrom([]string{"V100", "V100", "K80", "P100"}).Draw(t, "type"))
		if rapid.Bool().Draw(t, "small") {
			v.CPUMilli, v.MemMiB = 5, 6
		}
		v.Name = fmt.Sprint(len(cfg.Cluster.Servers))
		cfg.Cluster.Servers = append(cfg.Cluster.Servers, v)
	}
	if rapid.Bool().Draw(t, "quotas") {
		cfg.Cluster.Quotas = []cluster.Quota{{Tenant: "a", GPUs: 1}, {Tenant: "b", GPUs: 3}}
	}
	if rapid.Bool().Draw(t, "physics") {
		cfg.Physics = physics.Compose(physics.GPUType{})
	}
	cfg.Restart = sim.Pause(time.Duration(pick("pause", 0, 0, 2, 15)) * time.Second)
	cfg.Restart.FromScratch = pick("scratch", 0, 0, 1) == 1
	var jobs []trace.Job
	for range rapid.IntRange(0, 15).Draw(t, "jobs") {
		j := job(upTo("submit", 60), time.Second+upTo("work", 80), pick("workers", 1, 1, 2, 3, 6, 8),
			rapid.SampledFrom([]string{"", "lm-20", "resnet50-16"}).Draw(t, "model"))
		j.Request.GPUMilli = pick("share", 1000, 1000, 500, 300)
		j.Request.CPUMilli, j.Request.MemMiB = pick("CPU", 0, 0, 2), pick("MiB", 0, 0, 3)
		j.GPUType = rapid.SampledFrom([]string{"", "", "V100|P100", cfg.Cluster.Servers[0].GPUType}).Draw(t, "allowed")
		j.Mixed = rapid.Bool().Draw(t, "mixed")
		j.Tenant = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "tenant")
		if j.Workers = int32(min(int64(j.Workers), cfg.Cluster.Capacity(&j.JobSpec))); j.Workers > 0 {
			jobs = append(jobs, j)
		}
	}
	simtest.Lend(t, &cfg, 2)
	simtest.Break(t, &cfg)
	return cfg, jobs
}

// TestGavelEndsEveryJob checks, with any options, that every job ends that the cluster can hold, without an error. The same
// happens again after Reset, for a fresh scheduler and after another episode.
func TestGavelEndsEveryJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, jobs := draw(t)
		p := New("gavel", time.Duration(rapid.SampledFrom([]int{1, 5, 30, 360}).Draw(t, "round"))*time.Second)
		if rapid.Bool().Draw(t, "borrow") {
			p = loan.New("gavel+loan", p, loan.Default())
		}
		cut := cfg
		cut.Horizon = time.Duration(rapid.IntRange(1, 90).Draw(t, "horizon")) * time.Second
		simulate(t, cut, jobs, p, 1)
		first, ended := simulate(t, cfg, jobs, p, 2)
		if !ended {
			t.Fatalf("not every job ended: %q", first)
		}
		if again, _ := simulate(t, cfg, jobs, p, 3); !slices.Equal(first, again) {
			t.Fatalf("schedule\n%q, after Reset\n%q", first, again)
		}
	})
}

// decisions counts how often a scheduler is asked.
type decisions struct {
	cluster.Scheduler
	n int
}

func (d *decisions) Schedule(tx *cluster.Txn) error {
	d.n++
	return d.Scheduler.Schedule(tx)
}

// TestJobsOfCenturiesEndSoon checks that the number of rounds is bounded however long jobs run and whether or not that is known,
// while jobs of some days still get the rounds that they had.
func TestJobsOfCenturiesEndSoon(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, c := range []struct {
		work     time.Duration
		known    bool
		min, max int
	}{{90 * year, true, 10_000, 100_000}, {90 * year, false, 10_000, 100_000}, {150 * time.Hour, true, 2_900, 3_200}} {
		jobs := []trace.Job{job(0, c.work, 1, ""), job(0, c.work, 1, ""), job(0, c.work/100, 1, "")}
		for i := range jobs {
			if c.known {
				jobs[i].Estimate = jobs[i].Work
			}
		}
		count := &decisions{Scheduler: New("gavel", Round)}
		cfg := sim.Config{Cluster: cluster.Spec{Servers: []cluster.ServerSpec{server(1, "")}}, Physics: physics.Ideal()}
		if _, ended := simulate(t, cfg, jobs, count, 1); !ended {
			t.Fatalf("jobs of %v, known %t: not all end", c.work, c.known)
		}
		if count.n < c.min || count.n > c.max {
			t.Errorf("jobs of %v, known %t: %d decisions, want %d to %d", c.work, c.known, count.n, c.min, c.max)
		}
	}
}

// TestTimeComesNearToShares checks that over many rounds jobs that never end get the GPU-time that the linear program assigns.
func TestTimeComesNearToShares(t *testing.T) {
	cfg := sim.Config{
		Cluster: cluster.Spec{Servers: []cluster.ServerSpec{server(1, "V100"), server(1, "K80")}},
		Horizon: 1000 * 6 * time.Minute,
	}
	cfg.Cluster.Servers[1].Name = "b"
	jobs := []trace.Job{
		job(0, 1e6*time.Hour, 1, "lm-20"), job(0, 1e6*time.Hour, 1, "resnet50-16"), job(0, 1e6*time.Hour, 1, ""),
	}
	p := New("gavel", Round).(*gavel)
	simulate(t, cfg, jobs, p, 1)
	for id, j := range p.jobs {
		want := p.share[p.kinds[j.kind].class]
		for o := range want {
			if got := float64(j.got[o]) / float64(cfg.Horizon); got < want[o]-0.01 || got > want[o]+0.01 {
				t.Errorf("job %d: %v of its time with option %d, want %v", id, got, o, want[o])
			}
		}
	}
}
