package placement_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/placement"
)

const everything = "gpu-type * cpu-mem * sharing(0.3) * scaling * network(12.5,1.25,40)"

// BenchmarkPlace fills a cluster of 1,000 servers of 8 GPUs in one decision that leaves 5,000 jobs waiting. Then it decides
// again on the full cluster, where one refusal counts for all jobs of a kind. It reports the time of both decisions.
func BenchmarkPlace(b *testing.B) {
	for _, p := range []placement.Placer{
		&placement.BestFit{}, placement.NewTune(placement.DefaultTune()), placement.NewPack(placement.DefaultPack()), placement.NewMenu(placement.DefaultMenu()),
	} {
		b.Run(fmt.Sprintf("%T", p), func(b *testing.B) {
			b.ReportAllocs()
			var first, again time.Duration
			for b.Loop() {
				p.Reset(1)
				s := contended(b, 1000, 12000)
				first += decide(b, s, p)
				again += decide(b, s, p)
			}
			b.ReportMetric(first.Seconds()*1000/float64(b.N), "ms-first")
			b.ReportMetric(again.Seconds()*1000/float64(b.N), "ms-again")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func decide(tb testing.TB, s *cluster.State, p placement.Placer) time.Duration {
	tx := s.Begin(nil)
	start := time.Now()
	fill(tb, tx, p)
	took := time.Since(start)
	tx.End()
	return took
}

// fill starts the pending jobs that fit, in the order of their estimates, and then finishes.
func fill(tb testing.TB, tx *cluster.Txn, p placement.Placer) {
	s := tx.View()
	refused := map[placement.Kind]bool{}
	for _, id := range ordered(s) {
		kind := p.Kind(s, id)
		if refused[kind] {
			continue
		}
		ok, err := p.Place(tx, id)
		if err != nil {
			tb.Fatal(err)
		}
		refused[kind] = !ok
	}
	if err := placement.Finish(p, tx); err != nil {
		tb.Fatal(err)
	}
}

func contended(tb testing.TB, servers, jobs int) *cluster.State {
	spec := cluster.Uniform(servers, 8)
	spec.PerGPU = 2
	for i := range spec.Servers {
		v := &spec.Servers[i]
		v.CPUMilli, v.MemMiB, v.GPUMemMiB, v.Rack, v.GPUType = 48_000, 376<<10, 32<<10, 1+int32(i)/8, "V100"
	}
	s, err := cluster.NewState(spec, jobs)
	if err != nil {
		tb.Fatal(err)
	}
	model, err := physics.Parse(everything)
	if err != nil {
		tb.Fatal(err)
	}
	s.SetProfile(model)
	names := profile.Names()
	for i := range jobs {
		name := names[i*7%len(names)]
		j := &cluster.JobSpec{
			Name: fmt.Sprint(i), Workers: [...]int32{1, 1, 1, 2, 4, 8, 16, 32}[i%8], Model: name,
			Estimate: time.Duration(1+i*7919%10000) * time.Second,
			Request: cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: 5000, MemMiB: 40 << 10,
				GPUMemMiB: min(profile.Lookup(name).GPUMemMiB(1), 30<<10)},
		}
		if i%3 == 0 && j.Workers > 1 {
			j.MinWorkers, j.MaxWorkers = j.Workers/2, 2*j.Workers
		}
		s.Submit(cluster.JobID(i), j)
	}
	return s
}
