//go:build unix

package agents_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

// contended returns a cluster of 1,000 servers of 8 GPUs that the prior has filled, with 1,000 waiting jobs. One in every ended
// running jobs has just ended; if ended is 0, no job runs.
func contended(b *testing.B, p *agents.Policy, ended int) *cluster.State {
	b.Helper()
	const jobs, waiting = 4000, 1000
	s := must.Get(cluster.NewState(cluster.Uniform(1000, 8), jobs))(b)
	s.Advance(24 * time.Hour)
	draw := rand.New(rand.NewPCG(1, 2))
	for id := range cluster.JobID(jobs) {
		s.Submit(id, &cluster.JobSpec{
			Name: "job", Workers: 1 << draw.IntN(6), Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
			Estimate: time.Duration(1+draw.IntN(600)) * time.Minute, Submit: s.Now() - time.Duration(1+draw.IntN(3600))*time.Second,
		})
	}
	if ended > 0 {
		prior := agents.NewPrior(&p.Setting)
		must.Do(b, prior.Reset(1))
		must.Do(b, prior.Schedule(s.Begin(s.Introduce())))
		s.Txn().End()
		s.Advance(s.Now() + time.Minute)
		for i, id := range slices.Sorted(slices.Values(s.Running())) {
			if i%ended == 0 {
				s.Finish(id)
			}
		}
	}
	for _, id := range slices.Sorted(slices.Values(s.Pending()))[waiting:] {
		s.Withdraw(id)
	}
	return s
}

// BenchmarkContended measures one decision of the released team on 1,000 servers with 1,000 waiting jobs, in four cases: one
// running job has ended, one in a hundred, half of them, or the cluster is empty, so that hundreds of jobs can start at once. It
// reports quantiles of the CPU time of a decision.
func BenchmarkContended(b *testing.B) {
	p, _, err := agents.LoadFS(released.FS())
	must.Do(b, err)
	for _, load := range []struct {
		name  string
		ended int
	}{{"one", 1 << 20}, {"hundredth", 100}, {"half", 2}, {"empty", 0}} {
		b.Run(load.name, func(b *testing.B) {
			s, team := contended(b, p, load.ended), agents.NewTeam(p)
			var all []time.Duration
			var starts, choices int
			measure(b, func() {
				at := cpu()
				must.Do(b, team.Reset(1))
				tx := s.Begin(s.Introduce())
				must.Do(b, team.Schedule(tx))
				all = append(all, cpu()-at)
				starts, choices = len(tx.Ops()), 0
				for _, n := range team.Game().Tally() {
					choices += n
				}
				tx.Rollback(0)
				tx.End()
			})
			slices.Sort(all)
			b.ReportMetric(all[len(all)/2].Seconds()*1e3, "p50-cpu-ms")
			b.ReportMetric(all[len(all)*99/100].Seconds()*1e3, "p99-cpu-ms")
			b.ReportMetric(float64(starts), "starts")
			b.ReportMetric(float64(choices), "choices")
		})
	}
}
