package observe_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// varied returns an episode with everything that an observation describes: GPU types, racks, shares, quotas, elastic jobs, loans,
// failures, and jobs with and without estimates.
func varied(tb testing.TB, draw *rand.Rand) sim.Episode {
	model := must.Get(physics.Parse("gpu-type * cpu-mem * sharing(1) * scaling * network(12.5,1.25,2.5)"))(tb)
	cfg := sim.Config{Physics: model, Grace: 30 * time.Minute, Readings: sim.Readings{Interval: 5 * time.Minute, Noise: 0.05}}
	cfg.Cluster = cluster.Uniform(12, 8)
	cfg.Cluster.PerGPU = 2
	cfg.Cluster.Quotas = []cluster.Quota{{Tenant: "a", GPUs: 16}, {Tenant: "b", GPUs: 40}}
	for i := range cfg.Cluster.Servers {
		v := &cfg.Cluster.Servers[i]
		v.CPUMilli, v.MemMiB, v.GPUType, v.GPUMemMiB, v.Rack = 40_000, 400*1024, "V100", 32*1024, int32(i/4)
		if i%3 == 0 {
			v.GPUType, v.GPUMemMiB = "P100", 16*1024
		}
		if i%5 == 0 {
			v.GPUs = 4
		}
		if i >= 9 {
			v.Pool = cluster.Inference
		}
	}
	for i := range 40 {
		cfg.Demand = append(cfg.Demand, sim.Demand{At: time.Duration(i) * 20 * time.Minute, Offer: int32(draw.IntN(4))})
		from := time.Duration(i)*15*time.Minute + time.Minute
		cfg.Outages = append(cfg.Outages, sim.Outage{
			From: from, To: from + 10*time.Minute, Server: cluster.ServerID(draw.IntN(12)), GPU: int32(draw.IntN(5)) - 1,
		})
	}
	e := sim.Episode{Config: cfg}
	models := []string{"resnet18-64", "resnet50-32", "lm-20", "a3c", "cyclegan", "recommendation-512", ""}
	at := time.Duration(0)
	for i := range 160 {
		at += time.Duration(draw.ExpFloat64() * float64(4*time.Minute))
		j := trace.Job{JobSpec: cluster.JobSpec{
			Name: fmt.Sprint(i), Submit: at, Tenant: []string{"a", "b", ""}[draw.IntN(3)], Model: models[draw.IntN(len(models))],
			Workers: []int32{1, 1, 1, 2, 2, 4, 4, 8, 12, 16}[draw.IntN(10)],
			Request: cluster.Amount{
				GPUMilli: []int32{1000, 1000, 500, 300}[draw.IntN(4)], CPUMilli: []int32{1000, 3000, 6000}[draw.IntN(3)],
				MemMiB: 32 * 1024, GPUMemMiB: int32(draw.IntN(12)) * 1024,
			},
		}}
		if j.Workers > 2 && draw.IntN(2) == 0 {
			j.MinWorkers, j.MaxWorkers = j.Workers/int32(1+draw.IntN(3)), j.Workers*int32(1+draw.IntN(3))
		}
		if draw.IntN(3) == 0 {
			j.GPUType = []string{"V100", "P100", "P100|V100"}[draw.IntN(3)]
		}
		j.Work = time.Duration(math.Exp(4+2*draw.NormFloat64()) * float64(time.Minute) / 2)
		if draw.IntN(10) > 0 {
			j.Estimate = time.Duration(float64(j.Work)*math.Exp(draw.NormFloat64()/2)) + 1
		}
		e.Jobs = append(e.Jobs, j)
	}
	return e
}

// walk plays a varied episode with random decisions and calls visit with the state before and after each decision.
func walk(tb testing.TB, seed uint64, visit func(*cluster.State)) {
	draw := rand.New(rand.NewPCG(seed, 7))
	e := varied(tb, draw)
	episode := must.Get(e.New())(tb)
	for {
		tx, ok := episode.Next()
		if !ok {
			return
		}
		s := episode.State()
		visit(s)
		for id := cluster.ServerID(9); id < 12; id++ {
			if draw.IntN(2) == 0 {
				_ = tx.Loan(id) // fails if the server is not offered
			}
		}
		if running := s.Running(); len(running) > 0 && draw.IntN(8) == 0 {
			must.Do(tb, tx.Preempt(running[draw.IntN(len(running))]))
		}
		for _, id := range slices.Clone(s.Pending()) {
			if draw.IntN(6) == 0 {
				continue
			}
			if p, fits := s.BestFit(id, nil); fits {
				must.Do(tb, tx.Place(id, p))
				if draw.IntN(2) == 0 {
					visit(s)
				}
			}
		}
		if len(s.Running()) == 0 {
			tx.WakeAt(s.Now() + time.Hour)
		}
		episode.Commit()
		if s.Now() > 60*24*time.Hour {
			return
		}
	}
}

// see encodes a state and candidates in the open transaction.
func see(tb testing.TB, e *observe.Standard, s *cluster.State, list []candidates.Candidate, o *observe.Observation) {
	tb.Helper()
	must.Do(tb, e.Encode(s.Txn(), list, o))
}

// same reports whether two observations are equal, number by number.
func same(a, b *observe.Observation) bool {
	return slices.Equal(a.Servers, b.Servers) && slices.Equal(a.Jobs, b.Jobs) && slices.Equal(a.Ids, b.Ids) &&
		slices.Equal(a.Global, b.Global) && slices.Equal(a.Candidates, b.Candidates) && slices.Equal(a.Of, b.Of)
}

// shadowWait returns the time until as many GPUs are free as a job requests, if running jobs end as estimated and no other job
// starts; 0 if the estimates do not predict it.
func shadowWait(s *cluster.State, id cluster.JobID) time.Duration {
	need, free, running := s.Spec(id).GPUMilli(), s.FreeTotal()*cluster.WholeGPU, slices.Clone(s.Running())
	running = slices.DeleteFunc(running, func(r cluster.JobID) bool { return s.Spec(r).Estimate == 0 })
	wait := time.Duration(0)
	for free < need {
		if len(running) == 0 {
			return 0
		}
		next := slices.MinFunc(running, func(a, b cluster.JobID) int { return cmp.Compare(s.ExpectedFinish(a), s.ExpectedFinish(b)) })
		free += s.Placement(next).GPUMilli()
		wait = max(s.ExpectedFinish(next)-s.Now(), 0)
		running = slices.DeleteFunc(running, func(r cluster.JobID) bool { return r == next })
	}
	return wait
}

// TestHeadWaitIsTheShadow compares the feature of the head's waiting time with a plain loop.
func TestHeadWaitIsTheShadow(t *testing.T) {
	e, o := &observe.Standard{Window: 12}, &observe.Observation{}
	spec := e.Spec()
	seen := 0
	for seed := range uint64(3) {
		walk(t, seed, func(s *cluster.State) {
			see(t, e, s, nil, o)
			for k, id := range o.Ids {
				if value(t, &spec, o, "job", k, "startable") == 0 {
					want := logTime(shadowWait(s, id))
					if got := value(t, &spec, o, "global", 0, "head_wait"); got != want {
						t.Fatalf("at %v: head_wait of job %d is %v, want %v", s.Now(), id, got, want)
					}
					seen++
					break
				}
			}
		})
	}
	if seen == 0 {
		t.Error("no job was ever held")
	}
}
