package simtest

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// Chaos is a scheduler that proposes random operations of every kind and rolls some of them back.
type Chaos struct {
	Draw  *rand.Rand
	wakes int
}

// Name implements cluster.Scheduler.
func (*Chaos) Name() string { return "chaos" }

// Reset implements cluster.Scheduler.
func (c *Chaos) Reset(seed uint64) error {
	*c = Chaos{Draw: rng.Stream(seed, "chaos"), wakes: 20}
	return nil
}

// Schedule implements cluster.Scheduler.
func (c *Chaos) Schedule(tx *cluster.Txn) error {
	for range c.Draw.IntN(12) {
		mark := tx.Mark()
		c.operate(tx)
		if c.Draw.IntN(5) == 0 {
			tx.Rollback(mark)
		}
	}
	if c.wakes > 0 && c.Draw.IntN(2) == 0 {
		c.wakes--
		tx.WakeAt(tx.Now() + time.Duration(c.Draw.IntN(1000))*time.Second/2)
	}
	return nil
}

// operate tries one random operation. The cluster may refuse it.
func (c *Chaos) operate(tx *cluster.Txn) {
	s := tx.View()
	switch c.Draw.IntN(10) {
	case 0, 1, 2, 3:
		if id := c.pick(s.Pending()); id >= 0 {
			_ = tx.Place(id, c.Spread(s, id))
		}
	case 4:
		if id := c.pick(s.Running()); id >= 0 {
			_ = tx.Preempt(id)
		}
	case 5:
		if id := c.pick(s.Running()); id >= 0 {
			_ = tx.Migrate(id, c.Spread(s, id))
		}
	case 6:
		if id := c.pick(s.Running()); id >= 0 {
			_ = tx.Resize(id, c.Spread(s, id))
		}
	case 7:
		if id := c.pick(s.Running()); id >= 0 {
			_ = tx.Resize(id, c.regrant(s, id))
		}
	default:
		v := cluster.ServerID(c.Draw.IntN(s.Servers()))
		if tx.Loan(v) != nil && c.Draw.IntN(4) == 0 {
			_ = tx.Reclaim(v)
		}
	}
}

func (c *Chaos) pick(ids []cluster.JobID) cluster.JobID {
	if len(ids) == 0 {
		return -1
	}
	return ids[c.Draw.IntN(len(ids))]
}

// Spread returns a random placement of the job on servers in random order. It may have too few workers or break other rules.
func (c *Chaos) Spread(s *cluster.View, id cluster.JobID) (p cluster.Placement) {
	spec := s.Spec(id)
	left := spec.Least() + c.Draw.Int32N(spec.Most()-spec.Least()+1)
	amount := spec.Request
	if c.Draw.IntN(4) == 0 {
		amount.GPUMilli = 1 + c.Draw.Int32N(cluster.WholeGPU)
	}
	for _, i := range c.Draw.Perm(s.Servers()) {
		if fits := min(s.Fits(cluster.ServerID(i), id, amount), left); fits > 0 {
			n := 1 + c.Draw.Int32N(fits)
			if c.Draw.IntN(8) > 0 { // round up to a multiple of the workers that must be on the same server
				n = min(n+spec.Together()-1, left)
				n -= n % spec.Together()
			}
			p = append(p, cluster.Piece{Server: cluster.ServerID(i), Workers: n, Amount: amount})
			left -= n
		}
	}
	return slices.DeleteFunc(p, func(q cluster.Piece) bool { return q.Workers == 0 || left > 0 && c.Draw.IntN(8) == 0 })
}

// regrant returns the job's placement with other shares, cores and memory on some of its servers.
func (c *Chaos) regrant(s *cluster.View, id cluster.JobID) cluster.Placement {
	p := slices.Clone(s.Placement(id))
	for i := range p {
		if c.Draw.IntN(2) == 0 {
			p[i].CPUMilli = c.Draw.Int32N(6000)
		}
		if c.Draw.IntN(2) == 0 {
			p[i].MemMiB = c.Draw.Int32N(100_000)
		}
		if c.Draw.IntN(3) == 0 {
			p[i].GPUMilli = 1 + c.Draw.Int32N(cluster.WholeGPU)
		}
	}
	return p
}
