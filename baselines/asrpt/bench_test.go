package asrpt

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/placement"
)

// BenchmarkDecision measures a decision with 5,000 jobs in the queue and a busy cluster of 1,000 servers with 8 GPUs: a job
// ends, others start in its place, and the same number arrive. Half of the jobs train models, a quarter have pipeline stages.
func BenchmarkDecision(b *testing.B) {
	for _, c := range []struct {
		name   string
		change func(*Config)
	}{
		{"default", func(*Config) {}},
		{"backfill", func(c *Config) { c.Backfill = anyBackfill }},
		{"easy backfill", func(c *Config) { c.Backfill = easyBackfill }},
		{"projected", func(c *Config) { c.Start = projectedOrder }},
		{"projected, backfill", func(c *Config) { c.Start, c.Backfill = projectedOrder, anyBackfill }},
		{"backfill, no delay, bestfit", func(c *Config) { c.Backfill, c.Tau, c.Placer = anyBackfill, 0, &placement.BestFit{} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			config := Default()
			config.Predictor = told{1}
			c.change(&config)
			p := New("a-srpt", config)
			step := time.Hour // time in which an arriving job completes on the virtual machine
			if config.Start == projectedOrder {
				step = 0 // the queue is then on the virtual machine
			}
			var d *drive
			b.ReportAllocs()
			for b.Loop() {
				if d == nil || d.next >= benchJobs-8 {
					b.StopTimer()
					d = newDrive(b, p, step)
					b.StartTimer()
				}
				b.StopTimer()
				tx := d.turn()
				b.StartTimer()
				must.Do(b, p.Schedule(tx))
				tx.End()
			}
			if n := len(d.state.Pending()); n < 4000 || d.state.FreeTotal() > 800 {
				b.Errorf("%d jobs wait and %d GPUs are free, want a long queue and a busy cluster", n, d.state.FreeTotal())
			}
		})
	}
}

const benchJobs = 200_000

// drive is a cluster in which a job ends at every turn, and jobs arrive until 5,000 are waiting.
type drive struct {
	state  *cluster.State
	specs  []cluster.JobSpec
	next   cluster.JobID
	rng    *rand.Rand
	events []cluster.Event
	step   time.Duration
}

func newDrive(b *testing.B, p cluster.Scheduler, step time.Duration) *drive {
	state := must.Get(cluster.NewState(cluster.Uniform(1000, 8), benchJobs))(b)
	d := &drive{state: state, specs: make([]cluster.JobSpec, benchJobs), rng: rand.New(rand.NewPCG(1, 2))}
	for i := range d.specs {
		s := &d.specs[i]
		s.Name, s.Request.GPUMilli = fmt.Sprint(i), cluster.WholeGPU
		s.Workers = []int32{1, 1, 1, 2, 4, 8, 8, 16}[d.rng.IntN(8)]
		s.Estimate = time.Duration(1+d.rng.IntN(100_000)) * time.Second
		if d.rng.IntN(2) == 0 {
			s.Model = models[1+d.rng.IntN(len(models)-1)]
			if s.Workers%2 == 0 && d.rng.IntN(2) == 0 {
				s.Stages = 2
			}
		}
	}
	must.Do(b, p.Reset(1))
	d.step = step
	for len(state.Pending()) < 5000 {
		d.events = d.events[:0]
		d.arrive(5000 - len(state.Pending()))
		for range 3 { // the jobs arrive, complete on the virtual machine, and start
			tx := state.Begin(d.events)
			must.Do(b, p.Schedule(tx))
			tx.End()
			d.events = d.events[:0]
			state.Advance(state.Now() + 10_000*step)
		}
	}
	return d
}

func (d *drive) arrive(n int) {
	for range n {
		d.state.Submit(d.next, &d.specs[d.next])
		d.events = append(d.events, cluster.Event{Kind: cluster.Arrived, Job: d.next})
		d.next++
	}
}

// turn ends a job, lets another arrive if fewer than 5,000 wait, and begins a decision.
func (d *drive) turn() *cluster.Txn {
	d.state.Advance(d.state.Now() + d.step)
	d.events = d.events[:0]
	running := d.state.Running()
	id := running[d.rng.IntN(len(running))]
	d.state.Finish(id)
	d.events = append(d.events, cluster.Event{Kind: cluster.Finished, Job: id})
	d.arrive(max(0, 5000-len(d.state.Pending())))
	return d.state.Begin(d.events)
}
