package env_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// crowded is a cluster with so many GPUs free, jobs on the others, some of them shared, and a queue.
func crowded(tb testing.TB, servers, window, free int) *cluster.State {
	draw := rand.New(rand.NewPCG(1, 2))
	spec := cluster.Uniform(servers, 8)
	spec.PerGPU = 2
	for i := range spec.Servers {
		v := &spec.Servers[i]
		v.CPUMilli, v.MemMiB, v.Rack, v.GPUType = 48_000, 500*1024, int32(1+i/8), "V100"
	}
	models := []string{"resnet50-32", "lm-20", "a3c", "bert-large", "cyclegan"}
	jobs := make([]cluster.JobSpec, 8*servers+3*window)
	s, err := cluster.NewState(spec, len(jobs))
	if err != nil {
		tb.Fatal(err)
	}
	model, err := physics.Parse("gpu-type * cpu-mem * sharing(1) * scaling * network(12.5,1.25,40)")
	if err != nil {
		tb.Fatal(err)
	}
	s.SetProfile(model)
	s.Advance(10 * time.Hour)
	for i := range jobs {
		share := []int32{1000, 1000, 500}[draw.IntN(3)]
		jobs[i] = cluster.JobSpec{
			Name: fmt.Sprint(i), Model: models[draw.IntN(len(models))], Submit: time.Duration(draw.Int64N(int64(10 * time.Hour))),
			Workers:  []int32{1, 1, 2, 4, 8, 16}[draw.IntN(6)],
			Request:  cluster.Amount{GPUMilli: share, CPUMilli: 3000, MemMiB: 40_960},
			Estimate: time.Duration(draw.Int64N(int64(20 * time.Hour))),
		}
	}
	tx := s.Begin(nil)
	for i := range jobs {
		full := s.FreeTotal() <= int64(free)
		if full && len(s.Pending()) >= 4*window {
			break
		}
		s.Submit(cluster.JobID(i), &jobs[i])
		if p, ok := s.BestFit(cluster.JobID(i), nil); ok && !full {
			if err := tx.Place(cluster.JobID(i), p); err != nil {
				tb.Fatal(err)
			}
		}
	}
	tx.End()
	s.Advance(s.Now() + time.Hour)
	return s
}

func BenchmarkEncode(b *testing.B) {
	for _, c := range []struct {
		name                  string
		servers, window, free int
	}{{"64x32 in use", 64, 32, 64}, {"64x32 half free", 64, 32, 256}, {"1024x48 in use", 1024, 48, 1024},
		{"1024x48 half free", 1024, 48, 4096}} {
		s := crowded(b, c.servers, c.window, c.free)
		e := &env.StandardEncoder{Window: c.window}
		spec := e.Spec(c.servers)
		ts := env.NewTimeStep(&spec)
		e.Encode(s, ts)
		legal := -c.servers
		for _, ok := range ts.Mask {
			if ok {
				legal++
			}
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.Encode(s, ts)
			}
			b.ReportMetric(float64(legal), "items")
			b.ReportMetric(float64(len(s.Running())), "running")
			b.ReportMetric(float64(len(s.Pending())), "pending")
		})
	}
}
