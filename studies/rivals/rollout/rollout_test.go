package rollout_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/studies/rivals/rollout"
	"pgregory.net/rapid"
)

// over returns a rollout over a baseline.
func over(t rapid.TB, base string, change ...func(*rollout.Config)) *candidates.Scheduler {
	c := rollout.Default(func() cluster.Scheduler {
		return must.Get(all.New(base))(t)
	})
	for _, f := range change {
		f(&c)
	}
	return rollout.New("rollout", c)
}

func gang(name string, submit, work time.Duration, workers int32) trace.Job {
	return trace.Job{Work: work * time.Second, JobSpec: cluster.JobSpec{
		Name: name, Submit: submit * time.Second, Estimate: work * time.Second, Workers: workers,
		Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}}
}

// play returns the start of each job and the sum of all completion times, in seconds.
func play(t rapid.TB, cfg sim.Config, jobs []trace.Job, p cluster.Scheduler, seed uint64) (starts []float64, sum float64) {
	t.Helper()
	s := must.Get(sim.New(cfg, jobs))(t)
	must.Do(t, s.Run(context.Background(), p, seed))
	if !s.Outcome().Terminated {
		t.Fatalf("outcome %+v, want every job finished", s.Outcome())
	}
	starts = make([]float64, len(jobs))
	for _, r := range s.Log().Records {
		switch r.Kind {
		case sim.Start:
			starts[r.Job] = r.At.Seconds()
		case sim.Finish:
			sum += (r.At - jobs[r.Job].Submit).Seconds()
		}
	}
	return starts, sum
}

// blocked returns an episode in which a long small job comes forty seconds before a gang's servers are free. The base starts the
// small job, and the gang waits for a thousand seconds.
func blocked() (sim.Config, []trace.Job) {
	return sim.Config{Cluster: cluster.Uniform(1, 4)}, []trace.Job{
		gang("a", 0, 60, 2), gang("gang", 10, 100, 4), gang("small", 20, 1000, 2),
	}
}

func TestHoldsABlockForAGang(t *testing.T) {
	cfg, jobs := blocked()
	for _, c := range []struct {
		about string
		p     cluster.Scheduler
		want  []float64
	}{
		{"the base does not see it coming", over(t, "sjfskip", func(c *rollout.Config) { c.Items = 0 }), []float64{0, 1020, 20}},
		{"looking ahead, the small job waits", over(t, "sjfskip"), []float64{0, 60, 160}},
		{"a budget that does not suffice leaves it to the base", over(t, "sjfskip", func(c *rollout.Config) { c.Budget = 3 }),
			[]float64{0, 1020, 20}},
	} {
		if got, _ := play(t, cfg, jobs, c.p, 1); !slices.Equal(got, c.want) {
			t.Errorf("%s: starts %v, want %v", c.about, got, c.want)
		}
	}
}

// TestHoldsNobodyForEver checks that a rollout holds a job no longer than Hold, even if it always expects a gang's servers to be
// free in a second.
func TestHoldsNobodyForEver(t *testing.T) {
	cfg, jobs := blocked()
	jobs[0].Work = 5000 * time.Second
	p := over(t, "sjfskip", func(c *rollout.Config) {
		c.Hold = 2 * time.Minute
		c.Oracle = func(now time.Duration) sim.Rest {
			return sim.Rest{Work: func(id cluster.JobID) time.Duration {
				return []time.Duration{now + time.Second, 100 * time.Second, 1000 * time.Second}[id]
			}}
		}
	})
	if got, _ := play(t, cfg, jobs, p, 1); got[2] != 140 {
		t.Errorf("starts %v, want the small job at 20 + 120 s", got)
	}
}

// TestNoiseDoesNotMislead uses an episode in which it depends on the running job's duration whether holding pays, and in which
// the past allows any duration. A rollout that goes by the mean of a few futures is sometimes wrong; one that requires a clear
// gain is not.
func TestNoiseDoesNotMislead(t *testing.T) {
	var jobs []trace.Job
	for i := range 16 { // a tenth of the estimate, or ten times the estimate
		j := gang(fmt.Sprint("past", i), 0, 100, 1)
		j.Work = []time.Duration{10, 1000}[i%2] * time.Second
		jobs = append(jobs, j)
	}
	n := len(jobs)
	jobs = append(jobs, gang("a", 10_000, 400, 2), gang("gang", 10_010, 500, 4), gang("small", 10_020, 900, 2))
	cfg := sim.Config{Cluster: cluster.Uniform(1, 4)}
	held := map[float64]int{}
	for _, errors := range []float64{0, 2} {
		for seed := range uint64(40) {
			starts, _ := play(t, cfg, jobs, over(t, "sjfskip", func(c *rollout.Config) { c.Errors = errors }), seed)
			if starts[n+2] > 10_020 {
				held[errors]++
			}
		}
	}
	t.Logf("held %d times of 40 by the mean, %d beyond two standard errors", held[0], held[2])
	if held[0] < 5 || held[2]*2 > held[0] {
		t.Errorf("held %d times of 40 by the mean, %d beyond two standard errors, want 5 or more, and at most half of that",
			held[0], held[2])
	}
}

// truth returns the true future of an episode whose jobs are in the order of submission.
func truth(jobs []trace.Job) func(now time.Duration) sim.Rest {
	return func(now time.Duration) sim.Rest {
		next, _ := slices.BinarySearchFunc(jobs, now+1, func(j trace.Job, at time.Duration) int { return cmp.Compare(j.Submit, at) })
		return sim.Rest{Work: func(id cluster.JobID) time.Duration { return jobs[id].Work }, Future: jobs[next:]}
	}
}

// TestAsksTheBaseAgain checks that, after a choice from a wide list that the base did not propose, the base decides about the new
// state, as it does in the rollouts. The rest of what it proposed before is worse here: two servers have one GPU each, and the base
// takes a job of 2 s for one of 3 s.
func TestAsksTheBaseAgain(t *testing.T) {
	var jobs []trace.Job
	for i, work := range []time.Duration{1, 1, 1, 3, 2, 3} {
		jobs = append(jobs, gang(fmt.Sprint(i), 0, work, 1))
	}
	jobs[4].Estimate = 3 * time.Second
	p := over(t, "sjfskip", func(c *rollout.Config) {
		c.Oracle, c.Items, c.Pause, c.Wide = truth(jobs), 8, 0, true
	})
	if _, sum := play(t, sim.Config{Cluster: cluster.Uniform(2, 1)}, jobs, p, 1); sum != 18 {
		t.Errorf("sum of completion times %v, want 18, where the base alone has 19; chose %v", sum, p.Tally())
	}
}

// TestTruthNeverCosts checks that one step of improvement with the true future is never worse than the base, on any sequence of
// jobs. For bases that preempt this is only true of the sum over sequences, because their proposals are not subject to a block
// while they preempt, but are afterwards.
func TestTruthNeverCosts(t *testing.T) {
	var better [candidates.Kinds]int
	var sums [2]float64
	rapid.Check(t, func(t *rapid.T) {
		cfg := sim.Config{Cluster: cluster.Uniform(rapid.IntRange(1, 3).Draw(t, "servers"), rapid.IntRange(1, 4).Draw(t, "GPUs"))}
		if rapid.Bool().Draw(t, "distance matters") {
			cfg.Physics = physics.Compose(physics.InterServer{Penalty: 0.5})
		}
		deltas := rapid.Bool().Draw(t, "deltas")
		base := rapid.SampledFrom([]string{"sjfskip", "sjf", "fifo", "fjf", "sjfhold", "srtf", "srsf"}).Draw(t, "base")
		preempts := base == "srtf" || base == "srsf"
		pause := time.Duration(rapid.IntRange(0, 60).Draw(t, "pause")) * time.Second
		cfg.Restart = sim.Pause(pause)
		var jobs []trace.Job
		at := time.Duration(0)
		for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			at += time.Duration(rapid.IntRange(0, 30).Draw(t, "after"))
			j := gang(fmt.Sprint(i), at, time.Duration(rapid.IntRange(1, 200).Draw(t, "work")), 1)
			j.Workers = int32(rapid.IntRange(1, min(cfg.Cluster.GPUs(), 6)).Draw(t, "workers"))
			if rapid.Bool().Draw(t, "wrong") {
				j.Estimate = time.Duration(rapid.IntRange(1, 200).Draw(t, "estimate")) * time.Second
			}
			jobs = append(jobs, j)
		}
		plain := must.Get(all.New(base))(t)
		_, want := play(t, cfg, jobs, plain, 1)
		wide := rapid.Bool().Draw(t, "wide")
		p := over(t, base, func(c *rollout.Config) {
			c.Oracle, c.Items, c.Deltas, c.Pause, c.Wide = truth(jobs), 8, deltas, pause, wide
		})
		_, got := play(t, cfg, jobs, p, 1)
		if preempts {
			sums[0], sums[1] = sums[0]+want, sums[1]+got
		} else if got > want+1e-6 {
			t.Fatalf("sum of completion times %v, want at most the %v of %s; chose %v", got, want, base, p.Tally())
		}
		if got < want-1e-6 {
			for kind, n := range p.Tally() {
				better[kind] += n
			}
		}
	})
	t.Logf("where it was better than the base it chose %v", better)
	if sums[1] > sums[0] {
		t.Errorf("over bases that preempt: sums of completion times %v in all, want less than the %v of the bases", sums[1], sums[0])
	}
	if slices.Max(better[candidates.Own+1:]) == 0 {
		t.Error("never better than the base")
	}
}

// TestOverEveryBaseline checks that a rollout finishes every job without an error over every baseline, including those that
// preempt, resize and wake themselves.
func TestOverEveryBaseline(t *testing.T) {
	var bases []string
	for _, b := range all.Table().All() {
		if b.Name != "rollout" {
			bases = append(bases, b.Name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom(bases).Draw(t, "base")
		cfg := sim.Config{
			Cluster: cluster.Uniform(rapid.IntRange(1, 3).Draw(t, "servers"), rapid.IntRange(1, 4).Draw(t, "GPUs")),
			Restart: sim.Pause(time.Duration(rapid.IntRange(0, 1).Draw(t, "pause")) * time.Minute),
		}
		cfg.Cluster.Quotas = []cluster.Quota{{Tenant: "a", GPUs: 1}}
		var jobs []trace.Job
		for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
			j := gang(fmt.Sprint(i), time.Duration(rapid.IntRange(0, 600).Draw(t, "submit")),
				time.Duration(rapid.IntRange(1, 2000).Draw(t, "work")), 1)
			if rapid.Bool().Draw(t, "with quota") {
				j.Tenant = "a"
			} else {
				j.Workers = int32(rapid.IntRange(1, cfg.Cluster.GPUs()).Draw(t, "workers"))
				j.MaxWorkers = j.Workers + int32(rapid.IntRange(0, 1).Draw(t, "more"))
			}
			jobs = append(jobs, j)
		}
		wide := rapid.Bool().Draw(t, "wide")
		play(t, cfg, jobs, over(t, base, func(c *rollout.Config) {
			c.Menu, c.Deltas, c.Futures, c.Budget, c.Wide = true, true, 2, 500, wide
		}), 1)
	})
}
