package baselines_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// BenchmarkDecision reports the cost of a decision of each baseline with 1,000 servers of 8 GPUs and 5,000 waiting jobs of one
// to 16 GPUs, a third of them elastic: the mean over decision points at which a job comes or goes, and separately the first
// decision, which fills the cluster.
func BenchmarkDecision(b *testing.B) {
	cfg, jobs := contended(b, 1000, 5000)
	for _, base := range all.Table().All() {
		names := []string{base.Name}
		if base.Orders() {
			names = append(names, base.Name+baselines.MenuSuffix)
		}
		for _, name := range names {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					decide(b, name, cfg, jobs, 100)
				}
			})
		}
	}
}

// decide plays the given number of decisions of a baseline and reports what they cost.
func decide(b *testing.B, name string, cfg sim.Config, jobs []trace.Job, most int) {
	w := play(b, name, cfg, jobs, most)
	n := float64(w.decisions - 1)
	b.ReportMetric(w.first.Seconds()*1e3, "first-ms")
	b.ReportMetric(w.rest.Seconds()*1e3/n, "ms/decision")
	b.ReportMetric(float64(w.allocated)/n/1024, "KiB/decision")
	b.ReportMetric(float64(w.waiting), "waiting")
}

// play plays the given number of decisions of a baseline.
func play(b *testing.B, name string, cfg sim.Config, jobs []trace.Job, most int) *watched {
	sched := must.Get(all.New(name))(b)
	s := must.Get(sim.New(cfg, jobs))(b)
	w := &watched{Scheduler: sched, b: b, most: most}
	if err := s.Run(context.Background(), w, 1); !errors.Is(err, errEnough) {
		b.Fatal(err)
	}
	return w
}

// contended returns a full cluster and jobs for a queue of about the given length, which it keeps.
func contended(b *testing.B, servers, queue int) (sim.Config, []trace.Job) {
	model := must.Get(physics.Parse("gpu-type * cpu-mem * sharing(1) * scaling"))(b)
	spec := cluster.Uniform(servers, 8)
	spec.PerGPU = 2
	for i := range spec.Servers {
		v := &spec.Servers[i]
		v.GPUType, v.CPUMilli, v.MemMiB = "V100", 24_000, 500<<10
	}
	draw, models := rand.New(rand.NewPCG(1, 2)), profile.GavelJobs()
	var jobs []trace.Job
	for gpus := 0; gpus < servers*8 || queue > 0; {
		j := trace.Job{Work: time.Second + time.Duration(draw.ExpFloat64()*float64(3*time.Hour))}
		j.Name, j.Model, j.User = fmt.Sprint(len(jobs)), models[draw.IntN(len(models))], fmt.Sprint(draw.IntN(50))
		j.Workers = []int32{1, 1, 1, 1, 2, 4, 8, 16}[draw.IntN(8)]
		j.Request = cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: 3000, MemMiB: 60 << 10}
		if len(jobs)%3 == 0 {
			j.MinWorkers, j.MaxWorkers = (j.Workers+1)/2, 2*j.Workers
		}
		j.Estimate = j.Work
		if gpus += int(j.Workers); gpus >= servers*8 {
			queue--
		}
		jobs = append(jobs, j)
	}
	for range 2000 { // one job comes about when one goes
		j := jobs[len(jobs)/2]
		j.Name = fmt.Sprint(len(jobs))
		j.Submit = time.Duration(draw.IntN(2000)) * 3 * time.Second
		jobs = append(jobs, j)
	}
	return sim.Config{Cluster: spec, Physics: model}, jobs
}

var errEnough = errors.New("enough decisions")

// watched measures decisions and ends the episode after the number most of them.
type watched struct {
	cluster.Scheduler
	b               *testing.B
	decisions, most int
	first, rest     time.Duration
	cpu             float64 // seconds of the rest
	allocated       uint64  // bytes
	allocations     uint64
	began, ended    time.Duration // time of the cluster
	waiting         int
}

func (w *watched) Schedule(tx *cluster.Txn) error {
	if w.decisions == w.most {
		w.waiting = len(tx.View().Pending())
		return errEnough
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, used := time.Now(), cpu(w.b)
	err := w.Scheduler.Schedule(tx)
	took := time.Since(start)
	used = cpu(w.b) - used
	runtime.ReadMemStats(&after)
	if w.ended = tx.Now(); w.decisions == 0 {
		w.first, w.began = took, w.ended
	} else {
		w.rest += took
		w.cpu += used
		w.allocated += after.TotalAlloc - before.TotalAlloc
		w.allocations += after.Mallocs - before.Mallocs
	}
	w.decisions++
	return err
}
