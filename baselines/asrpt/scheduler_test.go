package asrpt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// whole returns a job of whole GPUs with an exact estimate.
func whole(submit, work time.Duration, workers int32) trace.Job {
	return trace.Job{Work: work, JobSpec: cluster.JobSpec{
		Submit: submit, Estimate: work, Workers: workers, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}}
}

func named(jobs ...trace.Job) []trace.Job {
	for i := range jobs {
		jobs[i].Name = fmt.Sprint(i + 1)
	}
	return jobs
}

// starts returns the starts and ends of jobs, by name.
func starts(l *sim.Log) string {
	var all []string
	for i := range l.Records {
		if r := &l.Records[i]; r.Kind == sim.Start || r.Kind == sim.Finish {
			all = append(all, fmt.Sprintf("%v %v %s", r.At, r.Kind, l.Jobs[r.Job].Name))
		}
	}
	return strings.Join(all, ", ")
}

// TestScheduler checks an example of 8 GPUs: the virtual machine completes jobs 1, 2, 3 at 13, 3, 6 s.
func TestScheduler(t *testing.T) {
	example := named(whole(0, 16*time.Second, 4), whole(time.Second, 8*time.Second, 2), whole(2*time.Second, 3*time.Second, 8))
	half := whole(0, 16*time.Second, 1)
	half.Request.GPUMilli = 500
	for _, c := range []struct {
		name   string
		jobs   []trace.Job
		change func(*Config)
		want   string
	}{
		{"the example", example, func(*Config) {},
			"3s start 2, 11s finish 2, 11s start 3, 14s finish 3, 14s start 1, 30s finish 1"},
		{"with backfill", example, func(c *Config) { c.Backfill = anyBackfill },
			"3s start 2, 11s finish 2, 11s start 3, 14s finish 3, 14s start 1, 30s finish 1"},
		{"in projected order", example, func(c *Config) { c.Start = projectedOrder },
			"0s start 1, 1s start 2, 9s finish 2, 16s finish 1, 16s start 3, 19s finish 3"},
		{"head blocks", named(whole(0, 8*time.Second, 8), whole(0, 9*time.Second, 8), whole(0, 80*time.Second, 1)), func(*Config) {},
			"8s start 1, 16s finish 1, 17s start 2, 26s finish 2, 27s start 3, 1m47s finish 3"},
		{"a share of a GPU counts as such", named(half), func(*Config) {},
			"1s start 1, 17s finish 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := Default()
			config.Predictor = told{1}
			c.change(&config)
			p := New("a-srpt", config)
			if p.Name() != "a-srpt" {
				t.Errorf("name %q", p.Name())
			}
			got := starts(run(t, sim.Config{Cluster: cluster.Uniform(2, 4)}, c.jobs, p, 1))
			if got != c.want {
				t.Errorf("got\n%s, want\n%s", got, c.want)
			}
		})
	}
}

// TestTakesOver checks that the scheduler can take over a cluster from another scheduler, from a snapshot and in a fork, and
// finishes all jobs.
func TestTakesOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		jobs := drawJobs(t, cfg.Cluster.GPUs(), 15)
		if rapid.Bool().Draw(t, "hard") {
			harden(t, &cfg, jobs)
		}
		options := drawOptions(t)
		before := must.Get(sim.New(cfg, jobs))(t)
		c := Default()
		c.Predictor, c.Start = told{1}, projectedOrder
		first := New("first", c)
		must.Do(t, first.Reset(1))
		for range rapid.IntRange(0, 20).Draw(t, "decisions before") {
			tx, ok := before.Next()
			if !ok {
				break
			}
			must.Do(t, first.Schedule(tx))
			before.Commit()
		}
		var text bytes.Buffer
		must.Do(t, before.State().WriteSnapshot(&text))
		s := must.Get(cluster.ReadSnapshot(&text))(t)
		p := New("a-srpt", options())
		must.Do(t, p.Reset(1))
		if err := p.Schedule(s.Begin(s.Introduce())); err != nil {
			t.Fatalf("from a snapshot: %v", err)
		}
		if _, ok := before.Next(); !ok {
			return
		}
		var fork sim.Sim
		before.Fork(&fork)
		must.Do(t, fork.Continue(p, 1, nil))
		if got := fork.Outcome(); !got.Terminated {
			t.Fatalf("outcome %+v, want every job finished", got)
		}
	})
}

// TestScaleDoesNotMatter checks that predictions that are all twice too long do not change the order of jobs that arrive
// together.
func TestScaleDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		jobs := drawJobs(t, cfg.Cluster.GPUs(), 15)
		for i := range jobs {
			jobs[i].Submit = 0
		}
		order := func(scale float64) []cluster.JobID {
			c := Default()
			c.Predictor, c.Tau = told{scale}, 0
			var ids []cluster.JobID
			l := run(t, cfg, jobs, New("a-srpt", c), 1)
			for i := range l.Records {
				if l.Records[i].Kind == sim.Start {
					ids = append(ids, l.Records[i].Job)
				}
			}
			return ids
		}
		if one, two := order(1), order(2); !slices.Equal(one, two) {
			t.Fatalf("order %v, with predictions twice as long %v", one, two)
		}
	})
}

// TestInterruptedJobsGoBackInOrder checks that jobs stopped by a failure return to the queue, each to its place in the order of
// the virtual machine.
func TestInterruptedJobsGoBackInOrder(t *testing.T) {
	jobs := named(whole(0, 20*time.Second, 1), whole(0, 30*time.Second, 1),
		whole(0, 40*time.Second, 2), whole(0, 50*time.Second, 2))
	down := sim.Outage{From: 26 * time.Second, To: 60 * time.Second, GPU: -1}
	cfg := sim.Config{Cluster: cluster.Uniform(1, 2), Outages: []sim.Outage{down}}
	c := Default()
	c.Predictor = told{1}
	// The virtual machine completes them at 10, 25, 65 and 115 s.
	const want = "10s start 1, 25s start 2, 1m0s start 1, 1m0s start 2, 1m4s finish 1, " +
		"1m29s finish 2, 1m29s start 3, 2m9s finish 3, 2m9s start 4, 2m59s finish 4"
	if got := starts(run(t, cfg, jobs, New("a-srpt", c), 1)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
