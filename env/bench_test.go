//go:build unix

package env_test

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// contended returns a workload under which about fifty jobs wait on 64 servers of 8 GPUs.
func contended(seed uint64) []trace.Job {
	r := rand.New(rand.NewPCG(seed, 1))
	jobs := make([]trace.Job, 4000)
	at := time.Duration(0)
	for i := range jobs {
		if i >= 60 {
			at += time.Duration(r.ExpFloat64() * float64(260*time.Second))
		}
		j := &jobs[i]
		j.Name, j.Submit, j.Workers = "job", at, []int32{1, 1, 2, 4, 8, 8, 16, 64, 128}[r.IntN(9)]
		j.Request = cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: 4000, MemMiB: 16_000}
		j.Work = time.Duration(1+r.IntN(120)) * time.Minute
		j.Estimate = j.Work
	}
	return jobs
}

// cpu returns the CPU time that the process has used. On a shared machine it is more reliable than the clock.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// busy returns an environment with 64 servers, 48 jobs and 64 candidates, in which agents see and are asked by the objective.
func busy(b *testing.B, o *objectives.Objective) *env.Cluster {
	fifo := must.Get(baselines.Parse("fifo"))(b)
	cfg := must.Get(fifo.Wide(62))(b)
	rules := sim.Config{Cluster: cluster.Uniform(64, 8)}
	for i := range rules.Cluster.Servers {
		rules.Cluster.Servers[i].CPUMilli, rules.Cluster.Servers[i].MemMiB = 64_000, 256_000
	}
	return must.Get(env.New(env.Config{
		Sim: rules, Jobs: func(seed uint64) ([]trace.Job, error) { return contended(seed), nil },
		Game: game.Config{Review: cfg, Encoder: &observe.Standard{Window: 48, Wide: true}, Objective: o},
	}))(b)
}

// BenchmarkRounds plays rounds with 64 servers, 48 jobs and 64 candidates, including all observations and masks. The agents let
// jobs wait until about 48 wait, and then take any candidate. In addition to rounds per second of the clock it reports rounds per
// second of CPU time, which is that of one core under GOMAXPROCS=1.
func BenchmarkRounds(b *testing.B) {
	e := busy(b, nil)
	var ts env.TimeStep
	joint, draw := make([]game.Action, 64), rand.New(rand.NewPCG(1, 1))
	listed, waiting, rounds, seed := 0, 0, 0, uint64(0)
	b.ReportAllocs()
	start := cpu(b)
	for b.Loop() {
		if rounds%2000 == 0 || ts.Over() {
			must.Do(b, e.Reset(seed, &ts))
			seed++
		}
		n := game.Pass
		if len(ts.Cluster.Pending()) > 48 {
			n = game.Action(1 + draw.IntN(len(ts.List)))
		}
		ts.Unanimous(n, joint)
		must.Do(b, e.Step(joint, &ts))
		rounds++
		listed += len(ts.List)
		waiting += len(ts.Cluster.Pending())
	}
	b.ReportMetric(float64(rounds)/b.Elapsed().Seconds(), "rounds/s")
	b.ReportMetric(float64(rounds)/(cpu(b)-start).Seconds(), "rounds/cpu-s")
	b.ReportMetric(float64(listed)/float64(rounds), "candidates")
	b.ReportMetric(float64(waiting)/float64(rounds), "waiting")
}

// BenchmarkObjectiveRows plays the same rounds with the rows of an objective and without, in turns of a hundred, and reports by how
// many percent of CPU time the former take longer. The limit of the objective, that of small-first apart, is too far away for other
// decision points.
func BenchmarkObjectiveRows(b *testing.B) {
	o := must.Get(objectives.Open("small-first"))(b)
	o.Terms[0].Over = 10_000 * time.Hour
	with := &turns{e: busy(b, o), draw: rand.New(rand.NewPCG(1, 1))}
	without := &turns{e: busy(b, nil), draw: rand.New(rand.NewPCG(1, 1))}
	with.play(b, 1000)
	without.play(b, 1000)
	var ratios []float64
	for b.Loop() {
		first := without.play(b, 100)
		ratios = append(ratios, with.play(b, 100)/first)
	}
	slices.Sort(ratios)
	b.ReportMetric(100*(ratios[len(ratios)/2]-1), "%-longer")
}

// turns plays rounds of an environment as BenchmarkRounds does.
type turns struct {
	e      *env.Cluster
	draw   *rand.Rand
	ts     env.TimeStep
	rounds int
}

// play returns the CPU time of the rounds in seconds.
func (p *turns) play(b *testing.B, n int) float64 {
	joint, start := make([]game.Action, 64), cpu(b)
	for range n {
		if p.rounds%2000 == 0 || p.ts.Over() {
			must.Do(b, p.e.Reset(uint64(p.rounds), &p.ts))
		}
		n := game.Pass
		if len(p.ts.Cluster.Pending()) > 48 {
			n = game.Action(1 + p.draw.IntN(len(p.ts.List)))
		}
		p.ts.Unanimous(n, joint)
		must.Do(b, p.e.Step(joint, &p.ts))
		p.rounds++
	}
	return (cpu(b) - start).Seconds()
}
