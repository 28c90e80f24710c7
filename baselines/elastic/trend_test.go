package elastic_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// fifo starts waiting jobs as requested in the order of submission; a job that does not fit blocks the queue.
type fifo struct{}

func (fifo) Name() string { return "fifo" }
func (fifo) Reset(uint64) {}

func (fifo) Allocate(s *cluster.View, jobs []elastic.Job) {
	free := s.FreeTotal()
	for i := range jobs {
		if free -= int64(jobs[i].Base); free < 0 {
			return
		}
		jobs[i].Want = jobs[i].Base
	}
}

// days returns a workload like Lyra's (EuroSys 2023, §7.1, Basic): long elastic jobs are few and take much of the cluster; a
// fifth of the jobs can run on the GPUs of the inference pool, whose offer follows the time of day.
func days(seed uint64) (sim.Config, []trace.Job) {
	const training, pool, gpus = 12, 12, 8
	r := rand.New(rand.NewPCG(seed, 0))
	cfg := sim.Config{Cluster: cluster.Uniform(training+pool, gpus), Restart: sim.Pause(63 * time.Second)}
	for i := range cfg.Cluster.Servers {
		v := &cfg.Cluster.Servers[i]
		if v.GPUType = "V100"; i >= training {
			v.GPUType, v.Pool = "T4", cluster.Inference
		}
	}
	for at := time.Duration(0); at < 96*time.Hour; at += 30 * time.Minute {
		used := 0.65 - 0.27*math.Cos(2*math.Pi*at.Hours()/24)
		cfg.Demand = append(cfg.Demand, sim.Demand{At: at, Offer: int32((0.98 - min(used, 0.98)) * pool)})
	}
	jobs := make([]trace.Job, 1200)
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.Request.GPUMilli, j.GPUType = fmt.Sprint(i), cluster.WholeGPU, "V100"
		j.Submit = time.Duration(r.Float64() * float64(64*time.Hour))
		j.Workers = []int32{1, 1, 1, 2, 4, 8, 8, 16}[r.IntN(8)]
		j.Work = time.Duration(math.Exp(6.5+1.5*r.NormFloat64()) * float64(time.Second))
		if r.Float64() < 0.21 {
			j.GPUType = "V100|T4"
		}
		if r.Float64() < 0.05 {
			j.Workers, j.Work = 8, time.Duration(3+5*r.Float64())*time.Hour
			j.MinWorkers, j.MaxWorkers = 4, 16
			j.GPUType = "V100|T4"
		}
		j.Estimate = j.Work
	}
	return cfg, jobs
}

// TestLyraTrend checks that loaning and scaling shorten queues and completion times, each alone and both together, as in Lyra's
// table 5. It does not compare figures, because the workload is different.
func TestLyraTrend(t *testing.T) {
	lyra := func() elastic.Policy { return elastic.NewLyra() }
	options := elastic.Literal()
	schemes := []struct {
		name    string
		elastic bool // whether jobs are
		sched   func() cluster.Scheduler
	}{
		{"fifo", false, func() cluster.Scheduler { return elastic.New("fifo", fifo{}, options) }},
		{"loaning only", false, func() cluster.Scheduler { return borrower{elastic.New("lyra", lyra(), options), false} }},
		{"scaling only", true, func() cluster.Scheduler { return elastic.New("lyra", lyra(), options) }},
		{"lyra", true, func() cluster.Scheduler { return borrower{elastic.New("lyra", lyra(), options), true} }},
	}
	queue, jct := make([]float64, len(schemes)), make([]float64, len(schemes))
	for seed := range uint64(3) {
		cfg, jobs := days(seed)
		for i, c := range schemes {
			jobs := slices.Clone(jobs)
			for k := range jobs {
				if !c.elastic {
					jobs[k].MinWorkers, jobs[k].MaxWorkers = 0, 0
				}
			}
			s := must.Get(sim.New(cfg, jobs))(t)
			must.Do(t, s.Run(t.Context(), c.sched(), 1))
			started := make([]bool, len(jobs))
			for _, r := range s.Log().Records {
				switch {
				case r.Kind == sim.Start && !started[r.Job]:
					started[r.Job] = true
					queue[i] += (r.At - jobs[r.Job].Submit).Seconds()
				case r.Kind == sim.Finish:
					jct[i] += (r.At - jobs[r.Job].Submit).Seconds()
				}
			}
		}
	}
	for i, c := range schemes {
		t.Logf("%-12s queueing %6.0f, completion %6.0f s", c.name, queue[i]/3/1200, jct[i]/3/1200)
	}
	for _, i := range []int{1, 2} {
		if queue[3] >= queue[i] || queue[i] >= queue[0] || jct[3] >= jct[i] || jct[i] >= jct[0] {
			t.Errorf("%s: queueing %.0f, completion %.0f: want between those of lyra (%.0f, %.0f) and fifo (%.0f, %.0f)",
				schemes[i].name, queue[i], jct[i], queue[3], jct[3], queue[0], jct[0])
		}
	}
}
