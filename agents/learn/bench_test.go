//go:build unix

package learn_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
)

// The numbers of samples, waiting jobs and candidates in the step to measure.
const stepRows, stepJobs, stepCandidates = 64, 32, 8

var export = flag.String("export", "", "folder to which TestExport writes batches and what comes of them")

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
	p, err := agents.NewPolicy("step", agents.DefaultSize(), agents.DefaultWindow, agents.DefaultPrior, r)
	if err != nil {
		tb.Fatal(err)
	}
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
					if _, err := m.Run(p, list, 1.0/stepRows, 0.01, grad); err != nil {
						b.Fatal(err)
					}
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

// batch is a step in a form that another program can read: padded inputs, row-major, and the results.
type batch struct {
	Shape                           agents.Shape
	Rows, Servers, Jobs, Candidates int
	Weight, Spread                  float64
	Params                          agents.Params
	In                              map[string][]float32
	LogProbs, Gradient              []float32
}

// TestExport writes the batches of BenchmarkStep to the folder given by -export, and a batch of samples of various sizes, each
// with its log-probabilities and its gradient under the expert loss.
func TestExport(t *testing.T) {
	if *export == "" {
		return
	}
	s, p := production(t)
	write(t, "ragged", s, p, samples(s, p, 16, stepJobs, stepCandidates, stepRows), 16)
	for _, servers := range []int{16, 38, 64} {
		write(t, fmt.Sprint(servers), s, p, full(s, p, servers), servers)
	}
}

func write(t *testing.T, name string, s agents.Shape, p agents.Params, list []learn.Sample, servers int) {
	t.Helper()
	x := batch{
		Shape: s, Rows: len(list), Servers: servers, Jobs: stepJobs, Candidates: stepCandidates, Weight: 1 / float64(len(list)),
		Spread: 0.01, Params: p, In: map[string][]float32{}, Gradient: make([]float32, p.Count()),
	}
	m := machine[float32](t, s, x.Rows, x.Servers, x.Jobs, x.Candidates, learn.Loss{Kind: learn.Expert, Temperature: 1})
	if _, err := m.Run(p, list, x.Weight, x.Spread, x.Gradient); err != nil {
		t.Fatal(err)
	}
	for r := range list {
		x.LogProbs = append(x.LogProbs, m.LogProbs(r)...)
		x.add(&list[r])
	}
	data, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*export, name+".json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// add appends a sample to the inputs.
func (x *batch) add(s *learn.Sample) {
	o := s.Observation
	put := func(name string, size int, fill func(dst []float32)) {
		dst := make([]float32, size)
		fill(dst)
		x.In[name] = append(x.In[name], dst...)
	}
	rows := func(name string, size int, src []float32) {
		put(name, size, func(dst []float32) { copy(dst, src) })
	}
	first := func(name string, size, n int) {
		put(name, size, func(dst []float32) {
			for i := range n {
				dst[i] = 1
			}
		})
	}
	rows("server", x.Servers*x.Shape.Server, o.Server)
	rows("job", x.Jobs*x.Shape.Job, o.Job)
	rows("candidate", x.Candidates*x.Shape.Candidate, o.Candidate)
	rows("prior", x.Candidates, s.Prior)
	first("server_mask", x.Servers, o.Servers)
	first("job_mask", x.Jobs, o.Jobs)
	first("legal", x.Candidates, o.Candidates)
	put("weights", x.Candidates*x.Servers, func(dst []float32) {
		for _, share := range o.Shares {
			dst[int(share.Candidate)*x.Servers+int(share.Server)] = share.Weight
		}
	})
	put("of", x.Candidates, func(dst []float32) {
		for i := range dst {
			dst[i] = -1
			if i < len(o.Of) {
				dst[i] = float32(o.Of[i])
			}
		}
	})
	put("adjacent", x.Servers*x.Servers, func(dst []float32) {
		for i := range o.Servers {
			copy(dst[i*x.Servers:], s.Adjacent[i*o.Servers:(i+1)*o.Servers])
		}
	})
	put("saved", x.Candidates, func(dst []float32) {
		for i, v := range s.Saved {
			dst[i] = float32(v)
		}
	})
}
