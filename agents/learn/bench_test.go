//go:build unix

package learn_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/internal/must"
)

// The numbers of samples, waiting jobs and candidates in the step to measure.
const stepRows, stepJobs, stepCandidates = 64, 32, 8

// cpu returns the CPU time of the process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// production returns the production network, with random weights in all layers.
func production(tb testing.TB) (agents.Shape, agents.Params) {
	tb.Helper()
	r := rand.New(rand.NewPCG(7, 8))
	p := must.Get(agents.NewPolicy("step", agents.DefaultSize(), agents.DefaultWindow, agents.DefaultPrior, r))(tb)
	for i := range p.Params {
		for j := range p.Params[i].Data {
			p.Params[i].Data[j] += float32(0.05 * r.NormFloat64())
		}
	}
	return p.Shape, p.Params
}

// full draws the samples of a step with the coordination graphs of the forward pass. All samples have the same number of servers.
func full(s agents.Shape, p agents.Params, servers int) []learn.Sample {
	r, net := rand.New(rand.NewPCG(1, 1)), agents.NewNet(s, p)
	list := make([]learn.Sample, stepRows)
	for i := range list {
		x := learn.Sample{
			Observation: random(&s, servers, stepJobs, stepCandidates, r), Adjacent: make([]float32, servers*servers),
			Prior: make([]float32, stepCandidates), Saved: make([]float64, stepCandidates),
		}
		for o := 1; o < stepCandidates; o++ {
			x.Saved[o], x.Prior[o] = r.NormFloat64(), -r.Float32()
		}
		net.Forward(x.Observation)
		net.Graph.Adjacency(x.Adjacent)
		list[i] = x
	}
	return list
}

// BenchmarkStep measures the gradient of a batch, forward and backward: 64 samples of 32 jobs and 8 candidates.
func BenchmarkStep(b *testing.B) {
	for _, servers := range []int{16, 38, 64} {
		for _, l := range losses {
			b.Run(fmt.Sprint(servers, "/", l.Kind), func(b *testing.B) {
				s, p := production(b)
				list, grad := full(s, p, servers), make([]float32, p.Count())
				m := machine[float32](b, s, stepRows, servers, stepJobs, stepCandidates, l)
				step := func() {
					must.Get(m.Run(p, list, 1.0/stepRows, 0.01, grad))(b)
				}
				step()
				start := cpu()
				for b.Loop() {
					step()
				}
				b.ReportMetric((cpu()-start).Seconds()*1e3/float64(b.N), "cpu-ms/op")
				b.ReportMetric(stepRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
