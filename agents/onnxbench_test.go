package agents_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/onnx"
	"github.com/clustergym/clustergym/internal/onnx/onnxtest"
)

// BenchmarkBesideONNX times the forward pass and ONNX Runtime in turns, with one thread each, on the same observations of 48 jobs
// and 8 candidates, and reports medians over the rounds. call is the time of an empty model through the same script; the time
// onnx includes it.
func BenchmarkBesideONNX(b *testing.B) {
	p, err := agents.NewPolicy("bench", agents.DefaultSize(), agents.DefaultWindow, agents.DefaultPrior, rand.New(rand.NewPCG(1, 2)))
	must.Do(b, err)
	shake(p, 1)
	file := exported(b, p)
	n, s := agents.NewNet(p.Shape, p.Params), p.Shape
	session, call := onnxtest.Load(b, file), onnxtest.Load(b, nothing(&s))
	for _, servers := range []int{16, 64, 256, 1024, 4096} {
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			o := random(&s, servers, 48, 8, 1)
			in := feeds(&s, &o)
			session.Run(in, "bids")
			call.Run(in, "bids")
			const rounds, calls = 31, 100
			times := max(1, 10000/servers)
			ours := func() time.Duration {
				start := time.Now()
				for range times {
					n.Forward(&o)
				}
				return time.Since(start) / time.Duration(times)
			}
			ours()
			session.Time(2 * times)
			for b.Loop() {
				var x, y, z []time.Duration
				for range rounds {
					x, y, z = append(x, ours()), append(y, session.Time(times)), append(z, call.Time(calls))
				}
				go1, ort := middle(x), middle(y)
				b.ReportMetric(go1, "go-µs")
				b.ReportMetric(ort, "onnx-µs")
				b.ReportMetric(middle(z), "call-µs")
				b.ReportMetric(go1/ort, "go/onnx")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// middle returns the median in microseconds.
func middle(times []time.Duration) float64 {
	slices.Sort(times)
	return times[len(times)/2].Seconds() * 1e6
}

// nothing returns a model with the inputs of a policy's model that does no work: its bids are the input of.
func nothing(s *agents.Shape) []byte {
	var g onnx.Graph
	servers, jobs, candidates := onnx.Dim{Name: "servers"}, onnx.Dim{Name: "jobs"}, onnx.Dim{Name: "offers"}
	g.Input("server", onnx.Float, servers, onnx.Dim{Size: s.Server})
	g.Input("job", onnx.Float, jobs, onnx.Dim{Size: s.Job})
	g.Input("offer", onnx.Float, candidates, onnx.Dim{Size: s.Candidate})
	g.Input("weights", onnx.Float, candidates, servers)
	of := g.Input("of", onnx.Int64, candidates)
	g.Output(g.Rename(g.Node("Cast", []string{of}, onnx.IntAttr("to", int(onnx.Float))), "bids"), onnx.Float, candidates)
	return g.Model("nothing", "", "clustergym", nil)
}
