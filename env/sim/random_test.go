package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/rng"
	"pgregory.net/rapid"
)

// drawConfig draws a small cluster and its rules.
func drawConfig(t *rapid.T) sim.Config {
	cfg := sim.Config{Cluster: cluster.Uniform(rapid.IntRange(1, 4).Draw(t, "servers"), rapid.IntRange(1, 4).Draw(t, "GPUs"))}
	for i := range cfg.Cluster.Servers {
		v := &cfg.Cluster.Servers[i]
		switch rapid.IntRange(0, 7).Draw(t, "kind of server") {
		case 0:
			v.GPUs = 0
		case 1:
			v.CPUMilli, v.MemMiB = 8, 8
		case 2:
			v.Name = fmt.Sprintf("\"rack\" <%d>\n", i)
		case 3:
			v.Pool = cluster.Inference
		}
	}
	cfg.Physics = rapid.SampledFrom([]physics.Model{
		physics.Ideal{}, physics.InterServer{Penalty: 0.5}, physics.InterServer{Penalty: 1. / 3},
	}).Draw(t, "physics")
	cfg.Overhead = drawTime(t, "overhead", 60)
	cfg.FromScratch = rapid.Bool().Draw(t, "from scratch")
	if rapid.IntRange(0, 2).Draw(t, "cut off") == 0 {
		cfg.Horizon = 1 + drawTime(t, "horizon", 9000)
	}
	return cfg
}

// drawTime draws whole seconds, so that there are ties, and now and then any nanosecond.
func drawTime(t *rapid.T, name string, most int64) time.Duration {
	if rapid.IntRange(0, 3).Draw(t, name+" in ns") == 0 {
		return time.Duration(rapid.Int64Range(0, most*int64(time.Second)).Draw(t, name))
	}
	return time.Duration(rapid.Int64Range(0, most).Draw(t, name)) * time.Second
}

// drawJobs draws jobs that the empty cluster could hold; every one has an estimate, of which few are true.
func drawJobs(t *rapid.T, cfg *sim.Config) []trace.Job {
	jobs := make([]trace.Job, 0, 10)
	for i := range rapid.IntRange(0, 10).Draw(t, "jobs") {
		var j trace.Job
		j.Name = fmt.Sprintf("%d", i)
		j.User = rapid.SampledFrom([]string{"", "ann", "böb \"b\""}).Draw(t, "user")
		j.Submit = drawTime(t, "submit", 100)
		j.Work = drawTime(t, "work", 4000)
		j.Estimate = 1 + drawTime(t, "estimate", 4000)
		if rapid.Bool().Draw(t, "true estimate") {
			j.Estimate = max(j.Work, 1)
		}
		j.Status = rapid.SampledFrom([]trace.Status{trace.Unknown, trace.Passed, trace.Killed}).Draw(t, "status")
		j.Request.GPUMilli = rapid.SampledFrom([]int32{1000, 1000, 500, 300}).Draw(t, "GPU milli")
		j.Request.CPUMilli = rapid.SampledFrom([]int32{0, 0, 3}).Draw(t, "CPU milli")
		most := cfg.Cluster.Capacity(&j.JobSpec)
		if most == 0 {
			continue
		}
		j.Workers = int32(rapid.Int64Range(1, min(most, 6)).Draw(t, "workers"))
		if rapid.Bool().Draw(t, "elastic") {
			j.MinWorkers, j.MaxWorkers = 1, j.Workers+2
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// drawScheduler draws a baseline or chaos.
func drawScheduler(t *rapid.T) func() cluster.Scheduler {
	makers := []func() cluster.Scheduler{func() cluster.Scheduler { return &chaos{} }}
	for _, b := range baselines.All() {
		makers = append(makers, b.New)
	}
	i := rapid.IntRange(-2, len(makers)-1).Draw(t, "scheduler")
	return makers[max(i, 0)]
}

// chaos proposes anything: it places, moves, resizes, stops, lends and takes back at random, and rolls some of it back.
type chaos struct {
	draw  *rand.Rand
	wakes int
}

func (*chaos) Name() string { return "chaos" }

func (c *chaos) Reset(seed uint64) error {
	*c = chaos{draw: rng.Stream(seed, "chaos"), wakes: 20}
	return nil
}

func (c *chaos) Schedule(tx *cluster.Txn) error {
	for range c.draw.IntN(12) {
		mark := tx.Mark()
		c.operate(tx)
		if c.draw.IntN(5) == 0 {
			tx.Rollback(mark)
		}
	}
	if c.wakes > 0 && c.draw.IntN(2) == 0 {
		c.wakes--
		tx.WakeAt(tx.Now() + time.Duration(c.draw.IntN(5000))*time.Second/2)
	}
	return nil
}

// operate tries one operation; a refusal is as good as any answer.
func (c *chaos) operate(tx *cluster.Txn) {
	s := tx.State()
	switch c.draw.IntN(7) {
	case 0, 1, 2:
		if id := c.pick(s.Pending()); id >= 0 {
			tx.Place(id, c.spread(s, id))
		}
	case 3:
		if id := c.pick(s.Running()); id >= 0 {
			tx.Preempt(id)
		}
	case 4:
		if id := c.pick(s.Running()); id >= 0 {
			tx.Migrate(id, c.spread(s, id))
		}
	case 5:
		if id := c.pick(s.Running()); id >= 0 {
			tx.Resize(id, c.spread(s, id))
		}
	case 6:
		v := cluster.ServerID(c.draw.IntN(s.Servers()))
		if tx.Loan(v) != nil {
			tx.Reclaim(v)
		}
	}
}

func (c *chaos) pick(ids []cluster.JobID) cluster.JobID {
	if len(ids) == 0 {
		return -1
	}
	return ids[c.draw.IntN(len(ids))]
}

// spread puts some gang of the job on servers in random order, as many workers on each as fit or fewer.
func (c *chaos) spread(s *cluster.State, id cluster.JobID) (p cluster.Placement) {
	spec := s.Spec(id)
	left := spec.Least() + c.draw.Int32N(spec.Most()-spec.Least()+1)
	amount := spec.Request
	if c.draw.IntN(4) == 0 {
		amount.GPUMilli = 1 + c.draw.Int32N(cluster.WholeGPU)
	}
	for _, i := range c.draw.Perm(s.Servers()) {
		if fits := min(s.Fits(cluster.ServerID(i), id, amount), left); fits > 0 {
			n := 1 + c.draw.Int32N(fits)
			p = append(p, cluster.Piece{Server: cluster.ServerID(i), Workers: n, Amount: amount})
			left -= n
		}
	}
	return slices.DeleteFunc(p, func(q cluster.Piece) bool { return left > 0 && c.draw.IntN(8) == 0 })
}

func play(t rapid.TB, cfg sim.Config, jobs []trace.Job, sched cluster.Scheduler, seed uint64) *sim.Log {
	t.Helper()
	s, err := sim.New(cfg, jobs)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(context.Background(), sched, seed); err != nil {
		t.Fatal(err)
	}
	return s.Log()
}
