package game_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/internal/must"
)

// queue is a prior that starts jobs in the order of their ids and does not allocate.
type queue struct {
	ids []cluster.JobID
	fit cluster.Placement
}

func (*queue) Name() string       { return "queue" }
func (*queue) Reset(uint64) error { return nil }

func (q *queue) Schedule(tx *cluster.Txn) error {
	q.ids = append(q.ids[:0], tx.View().Pending()...)
	slices.Sort(q.ids)
	for _, id := range q.ids {
		var fits bool
		if q.fit, fits = tx.View().BestFit(id, q.fit[:0]); !fits {
			return nil
		}
		if err := tx.Place(id, q.fit); err != nil {
			return err
		}
	}
	return nil
}

// busy returns a cluster with two GPU types, racks and more jobs than fit: gangs, jobs with shares of GPUs, elastic jobs, several
// tenants, one of them with a quota, and servers to borrow.
func busy(t *testing.T) *cluster.State {
	t.Helper()
	spec := cluster.Uniform(16, 8)
	for i := range spec.Servers {
		v := &spec.Servers[i]
		v.CPUMilli, v.MemMiB, v.GPUType, v.Rack = 64_000, 256_000, []string{"V100", "T4"}[i%2], int32(1+i/4)
		if i >= 14 {
			v.Pool = cluster.Inference
		}
	}
	spec.Quotas = []cluster.Quota{{Tenant: "b", GPUs: 20}}
	s := must.Get(cluster.NewState(spec, 48))(t)
	draw := rand.New(rand.NewPCG(1, 2))
	for i := range s.Jobs() {
		j := &cluster.JobSpec{
			Name: "job", Tenant: []string{"a", "b", "c"}[i%3], Workers: []int32{1, 1, 2, 4, 8, 16}[draw.IntN(6)],
			Request: cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: 4000, MemMiB: 16_000},
		}
		j.Estimate = time.Duration(1000+draw.IntN(5000)) * time.Hour
		if i%4 == 0 {
			j.MinWorkers, j.MaxWorkers = max(j.Workers/2, 1), 2*j.Workers
		}
		if i%7 == 0 {
			j.Request.GPUMilli = 500
		}
		s.Submit(cluster.JobID(i), j)
	}
	return s
}

// TestARoundAllocatesNothing checks that, once memory has grown and if the prior does not allocate, a round allocates nothing:
// neither to carry out what is agreed, nor to find the next list, nor to show it.
func TestARoundAllocatesNothing(t *testing.T) {
	s := busy(t)
	g, err := game.New(game.Config{
		Review: candidates.Config{
			Base: func() cluster.Scheduler { return &queue{} }, Start: candidates.Default(nil).Start, Wide: true, Items: 62, Choices: 64,
			Menu: true, Deltas: true, Hold: 2 * time.Hour,
			Rivals: []candidates.Named{{Name: "queue", New: func() cluster.Scheduler { return &queue{} }}},
		},
		Encoder: &observe.Standard{Window: 48, Wide: true},
	}, s.Servers())
	if err != nil {
		t.Fatal(err)
	}
	must.Do(t, g.Reset(1))
	var (
		r       game.Round
		rounds  int
		refused int
		draw    = rand.New(rand.NewPCG(3, 4))
		joint   = make([]game.Action, s.Servers())
		woke    = []cluster.Event{{Kind: cluster.Woke}, {Kind: cluster.Found}}
	)
	decision := func() {
		tx := s.Begin(nil) // some jobs stop and wait again
		for range 4 {
			if ids := s.Running(); len(ids) > 0 {
				_ = tx.Preempt(ids[draw.IntN(len(ids))])
			}
		}
		tx.End()
		s.Advance(s.Now() + time.Minute)
		tx = s.Begin(woke)
		more, err := g.Begin(tx)
		for err == nil && more {
			if err = g.Show(&r); err != nil {
				break
			}
			rounds++
			clear(joint)
			for i := range joint { // a few candidates, which may conflict
				if legal := r.Legal(i); draw.IntN(3) > 0 {
					n := draw.IntN(len(legal))
					for !legal[n] {
						n = (n + 1) % len(legal)
					}
					joint[i] = game.Action(n)
				}
			}
			more, err = g.Play(joint)
			refused += len(g.Refused())
		}
		if err != nil {
			t.Fatal(err)
		}
		tx.End()
	}
	many := func() {
		for range 50 {
			decision()
		}
	}
	for range 6 {
		many()
	}
	// The memory for placements still grows now and then, whenever a larger gang reuses the memory of a smaller one.
	least, before := 1e9, g.Tally()
	for rounds, refused = 0, 0; least > 0 && rounds < 6000; {
		least = min(least, testing.AllocsPerRun(1, many))
	}
	if least > 0 {
		t.Errorf("%v allocations in 50 decisions at the least, want none", least)
	}
	kinds := map[string]int{}
	for k, n := range g.Tally() {
		if n > before[k] {
			kinds[candidates.Kind(k).String()] = n - before[k]
		}
	}
	if t.Logf("%d rounds, %d refused, took %v", rounds, refused, kinds); rounds < 500 || len(kinds) < 12 {
		t.Errorf("%d rounds with candidates of %d kinds, want 500 or more and 12", rounds, len(kinds))
	}
}
