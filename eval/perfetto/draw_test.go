package perfetto

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/rng"
)

// drawLog draws and plays a small random episode with GPU shares, gangs, preemptions, migrations, resizes, loans, seizures and
// failures.
func drawLog(t *rapid.T) *sim.Log {
	cfg := sim.Config{Cluster: cluster.Uniform(rapid.IntRange(1, 4).Draw(t, "servers"), rapid.IntRange(1, 3).Draw(t, "GPUs"))}
	cfg.Restart = sim.Pause(drawTime(t, "pause", 30))
	pool := int32(0)
	for i := range cfg.Cluster.Servers[1:] {
		v := &cfg.Cluster.Servers[i+1]
		v.Rack = rapid.Int32Range(0, 2).Draw(t, "rack")
		if rapid.IntRange(0, 2).Draw(t, "inference") == 0 {
			v.Pool, pool = cluster.Inference, pool+1
		}
		if rapid.IntRange(0, 8).Draw(t, "odd name") == 0 {
			v.Name = "\"rack\" <é\x7f\xff>\n"
		}
	}
	if pool > 0 && rapid.Bool().Draw(t, "demand") {
		cfg.Grace = drawTime(t, "grace", 100)
		for i := range rapid.IntRange(1, 5).Draw(t, "demands") {
			cfg.Demand = append(cfg.Demand, sim.Demand{
				At:   time.Duration(i)*300*time.Second + drawTime(t, "demand", 200),
				Need: rapid.Int64Range(0, 3000).Draw(t, "need"), Offer: rapid.Int32Range(0, pool).Draw(t, "offer"),
			})
		}
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "outages") {
		from := time.Duration(i)*200*time.Second + drawTime(t, "fails", 90)
		cfg.Outages = append(cfg.Outages, sim.Outage{From: from, To: from + 1 + drawTime(t, "is out for", 100),
			Server: cluster.ServerID(rapid.IntRange(0, len(cfg.Cluster.Servers)-1).Draw(t, "server")),
			GPU:    rapid.SampledFrom([]int32{-1, 0}).Draw(t, "GPU")})
	}
	if rapid.IntRange(0, 2).Draw(t, "cut off") == 0 {
		cfg.Horizon = 1 + drawTime(t, "horizon", 1500)
	}
	s, err := sim.New(cfg, drawJobs(t))
	if err != nil {
		t.Fatal(err)
	}
	sched := []cluster.Scheduler{&chaos{}, baseline("las"), baseline("srtf"), baseline("lyra"), baseline("fifo")}
	if err := s.Run(context.Background(), sched[max(0, rapid.IntRange(-4, 4).Draw(t, "scheduler"))],
		rapid.Uint64().Draw(t, "seed")); err != nil {
		t.Fatal(err)
	}
	return s.Log()
}

func baseline(name string) cluster.Scheduler {
	b, _ := baselines.Find(name)
	return b.New()
}

// drawJobs draws jobs that fit on one server.
func drawJobs(t *rapid.T) (jobs []trace.Job) {
	for i := range rapid.IntRange(0, 14).Draw(t, "jobs") {
		var j trace.Job
		j.Name = rapid.SampledFrom([]string{fmt.Sprint(i), "\"quoted\" \\ \x00", "naïve\u2028"}).Draw(t, "name")
		j.User = rapid.SampledFrom([]string{"", "ann"}).Draw(t, "user")
		j.Submit, j.Work = drawTime(t, "submit", 400), drawTime(t, "work", 300)
		j.Estimate = max(1, j.Work)
		j.Workers, j.Request.GPUMilli = 1, rapid.SampledFrom([]int32{1000, 1000, 500, 300}).Draw(t, "GPU milli")
		if rapid.IntRange(0, 3).Draw(t, "elastic") == 0 {
			j.MinWorkers, j.MaxWorkers = 1, 3
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// drawTime draws a time; most is the largest, in seconds. It uses few distinct values, so that there are ties, and sometimes any
// nanosecond.
func drawTime(t *rapid.T, name string, most int64) time.Duration {
	d := time.Duration(rapid.Int64Range(0, 10).Draw(t, name)*most) * time.Second / 10
	if d > 0 && rapid.IntRange(0, 3).Draw(t, name+" in ns") == 0 {
		d -= time.Duration(rapid.Int64Range(0, int64(d)/20).Draw(t, name+" less"))
	}
	return d
}

// chaos is a scheduler that places, moves, resizes, preempts, lends and reclaims at random.
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
	s := tx.View()
	pick := func(ids []cluster.JobID) (cluster.JobID, bool) {
		if len(ids) == 0 {
			return 0, false
		}
		return ids[c.draw.IntN(len(ids))], true
	}
	for range c.draw.IntN(10) {
		pending, waits := pick(s.Pending())
		running, runs := pick(s.Running())
		switch what := c.draw.IntN(9); {
		case what < 4 && waits:
			tx.Place(pending, c.spread(s, pending))
		case what == 4 && runs:
			tx.Preempt(running)
		case what == 5 && runs:
			tx.Migrate(running, c.spread(s, running))
		case what == 6 && runs:
			tx.Resize(running, c.spread(s, running))
		case what > 6:
			v := cluster.ServerID(c.draw.IntN(s.Servers()))
			if tx.Loan(v) != nil && c.draw.IntN(4) == 0 {
				tx.Reclaim(v)
			}
		}
	}
	if c.wakes > 0 && c.draw.IntN(2) == 0 {
		c.wakes--
		tx.WakeAt(tx.Now() + time.Duration(c.draw.IntN(1000))*time.Second/4)
	}
	return nil
}

// spread returns a placement of a gang of random size, on servers in random order, with a random number of workers on each.
func (c *chaos) spread(s *cluster.View, id cluster.JobID) (p cluster.Placement) {
	spec := s.Spec(id)
	left := spec.Least() + c.draw.Int32N(spec.Most()-spec.Least()+1)
	for _, i := range c.draw.Perm(s.Servers()) {
		if fits := min(s.Fits(cluster.ServerID(i), id, spec.Request), left); fits > 0 {
			n := 1 + c.draw.Int32N(fits)
			p = append(p, cluster.Piece{Server: cluster.ServerID(i), Workers: n, Amount: spec.Request})
			left -= n
		}
	}
	return slices.Clip(p)
}
