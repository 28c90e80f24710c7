package sim_test

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
	"pgregory.net/rapid"
)

// drawScheduler draws a baseline or chaos.
func drawScheduler(t *rapid.T) func() cluster.Scheduler {
	makers := []func() cluster.Scheduler{func() cluster.Scheduler { return &chaos{} }}
	// Fast baselines that use different operations; package baselines tests all of them.
	for _, name := range []string{"fifo", "sjfskip", "sjfhold", "srtf", "srsf", "las", "random", "lucid", "lyra"} {
		makers = append(makers, func() cluster.Scheduler {
			return must.Get(baselines.New(name))(t)
		})
	}
	i := rapid.IntRange(-len(makers), len(makers)-1).Draw(t, "scheduler")
	return makers[max(i, 0)]
}

// chaos is a scheduler that proposes random operations of every kind and rolls some of them back.
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
		tx.WakeAt(tx.Now() + time.Duration(c.draw.IntN(1000))*time.Second/2)
	}
	return nil
}

// operate tries one random operation. The cluster may refuse it.
func (c *chaos) operate(tx *cluster.Txn) {
	s := tx.View()
	switch c.draw.IntN(10) {
	case 0, 1, 2, 3:
		if id := c.pick(s.Pending()); id >= 0 {
			tx.Place(id, c.spread(s, id))
		}
	case 4:
		if id := c.pick(s.Running()); id >= 0 {
			tx.Preempt(id)
		}
	case 5:
		if id := c.pick(s.Running()); id >= 0 {
			tx.Migrate(id, c.spread(s, id))
		}
	case 6:
		if id := c.pick(s.Running()); id >= 0 {
			tx.Resize(id, c.spread(s, id))
		}
	case 7:
		if id := c.pick(s.Running()); id >= 0 {
			tx.Resize(id, c.regrant(s, id))
		}
	default:
		v := cluster.ServerID(c.draw.IntN(s.Servers()))
		if tx.Loan(v) != nil && c.draw.IntN(4) == 0 {
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

// spread returns a random placement of the job on servers in random order. It may have too few workers or break other rules.
func (c *chaos) spread(s *cluster.View, id cluster.JobID) (p cluster.Placement) {
	spec := s.Spec(id)
	left := spec.Least() + c.draw.Int32N(spec.Most()-spec.Least()+1)
	amount := spec.Request
	if c.draw.IntN(4) == 0 {
		amount.GPUMilli = 1 + c.draw.Int32N(cluster.WholeGPU)
	}
	for _, i := range c.draw.Perm(s.Servers()) {
		if fits := min(s.Fits(cluster.ServerID(i), id, amount), left); fits > 0 {
			n := 1 + c.draw.Int32N(fits)
			if c.draw.IntN(8) > 0 { // round up to a multiple of the workers that must be on the same server
				n = min(n+spec.Together()-1, left)
				n -= n % spec.Together()
			}
			p = append(p, cluster.Piece{Server: cluster.ServerID(i), Workers: n, Amount: amount})
			left -= n
		}
	}
	return slices.DeleteFunc(p, func(q cluster.Piece) bool { return q.Workers == 0 || left > 0 && c.draw.IntN(8) == 0 })
}

// regrant returns the job's placement with other shares, cores and memory on some of its servers.
func (c *chaos) regrant(s *cluster.View, id cluster.JobID) cluster.Placement {
	p := slices.Clone(s.Placement(id))
	for i := range p {
		if c.draw.IntN(2) == 0 {
			p[i].CPUMilli = c.draw.Int32N(6000)
		}
		if c.draw.IntN(2) == 0 {
			p[i].MemMiB = c.draw.Int32N(100_000)
		}
		if c.draw.IntN(3) == 0 {
			p[i].GPUMilli = 1 + c.draw.Int32N(cluster.WholeGPU)
		}
	}
	return p
}

func play(t rapid.TB, cfg sim.Config, jobs []trace.Job, sched cluster.Scheduler, seed uint64) *sim.Log {
	t.Helper()
	return playEpisode(t, sim.Episode{Config: cfg, Jobs: jobs}, sched, seed)
}

func playEpisode(t rapid.TB, e sim.Episode, sched cluster.Scheduler, seed uint64) *sim.Log {
	t.Helper()
	return simtest.Play(t, &e, sched, seed)
}
