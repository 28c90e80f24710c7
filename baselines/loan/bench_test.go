package loan_test

import (
	"fmt"
	"testing"

	"github.com/clustergym/clustergym/baselines/loan"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
)

// nobody is a scheduler that does nothing.
type nobody struct{}

func (nobody) Name() string                { return "nobody" }
func (nobody) Reset(uint64) error          { return nil }
func (nobody) Schedule(*cluster.Txn) error { return nil }

// BenchmarkSchedule measures a decision at Lyra's scale: 443 training servers and 520 inference servers, of which 500 are on
// loan, with at least 2,000 running and 5,000 waiting jobs. The decision returns the servers owed, which includes stopping and
// scaling in jobs.
func BenchmarkSchedule(b *testing.B) {
	spec := cluster.Uniform(963, 8)
	for i := range 520 {
		spec.Servers[443+i].Pool = cluster.Inference
	}
	s := must.Get(cluster.NewState(spec, 9000))(b)
	draw := rng.Stream(1, "bench")
	s.SetOffer(500, 0)
	tx := s.Begin(nil)
	for i := range 500 {
		must.Do(b, tx.Loan(cluster.ServerID(443+i)))
	}
	for id, waiting := cluster.JobID(0), 0; waiting < 5000; id++ {
		j := &cluster.JobSpec{Name: fmt.Sprint(id), Workers: []int32{1, 1, 2, 2, 4, 8}[draw.IntN(6)],
			Request: cluster.Amount{GPUMilli: cluster.WholeGPU}}
		if id%4 == 0 {
			j.MinWorkers, j.MaxWorkers = (j.Workers+1)/2, j.Workers
		}
		s.Submit(id, j)
		p, fits := s.BestFit(id, nil)
		if !fits {
			waiting++
			continue
		}
		must.Do(b, tx.Place(id, p))
	}
	tx.End()
	for _, c := range []struct {
		name  string
		offer int32
	}{{"nothing", 500}, {"20 more", 520}, {"owed 10", 490}, {"owed 60", 440}} {
		b.Run(c.name, func(b *testing.B) {
			p := loan.New("nobody", nobody{}, loan.Default())
			s.SetOffer(c.offer, 0)
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, p.Reset(1))
				tx := s.Begin(nil)
				must.Do(b, p.Schedule(tx))
				b.ReportMetric(float64(len(tx.Ops())), "ops")
				tx.Rollback(0)
			}
			b.ReportMetric(float64(len(s.Running())), "running")
		})
	}
}
