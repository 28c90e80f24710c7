package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// BenchmarkResume resumes repeatedly in the same memory, from a state with 32 servers of 8 GPUs, 60 running, 200 waiting and
// 1,000 finished jobs. For comparison, its second part also plays the rest of the episode under sjfskip.
func BenchmarkResume(b *testing.B) {
	for _, future := range []int{0, 100} {
		from, cfg, rest := busy(b, future)
		var dst sim.Sim
		b.Run(fmt.Sprintf("future=%d", future), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, dst.Resume(cfg, &from.View, rest))
			}
		})
		sched := must.Get(baselines.New("sjfskip"))(b)
		b.Run(fmt.Sprintf("future=%d/continue", future), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, dst.Resume(cfg, &from.View, rest))
				must.Do(b, dst.Continue(sched, 1, nil))
			}
		})
	}
}

// busy returns the state of BenchmarkResume, its configuration, and the given number of future jobs.
func busy(tb testing.TB, future int) (*cluster.State, *sim.Config, sim.Rest) {
	tb.Helper()
	const done, running, waiting = 1000, 60, 200
	draw := rand.New(rand.NewPCG(1, 2))
	jobs := make([]trace.Job, done+running+waiting+future)
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.Workers, j.Request.GPUMilli = fmt.Sprint(i), 1+draw.Int32N(6), cluster.WholeGPU
		j.Work = time.Duration(1+draw.IntN(7200)) * time.Second
		j.Estimate = j.Work
		if i >= done+running+waiting {
			j.Submit = time.Duration(10+i) * time.Second
		}
	}
	cfg := &sim.Config{Cluster: cluster.Uniform(32, 8)}
	s := must.Get(cluster.NewState(cfg.Cluster, len(jobs)))(tb)
	for i := range jobs[:done+running+waiting] {
		id := cluster.JobID(i)
		if s.Submit(id, &jobs[i].JobSpec); i >= done+running {
			continue
		}
		tx := s.Begin(nil)
		for server := range cluster.ServerID(s.Servers()) {
			if tx.Place(id, cluster.Placement{{Server: server, Workers: jobs[i].Workers, Amount: jobs[i].Request}}) == nil {
				break
			}
		}
		if tx.End(); s.Phase(id) != cluster.Running {
			tb.Fatalf("job %d does not fit", i)
		}
		if i < done {
			s.Finish(id)
		}
	}
	work := func(id cluster.JobID) time.Duration { return jobs[id].Work }
	return s, cfg, sim.Rest{Work: work, Future: jobs[done+running+waiting:]}
}
