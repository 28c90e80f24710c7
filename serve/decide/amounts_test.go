package decide_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/serve/decide"
)

// TestAmountsStayWithinLimits checks that no job holds more or less than the limits allow, that a protected job never gets less, and
// that changes in place count as no stops.
func TestAmountsStayWithinLimits(t *testing.T) {
	amount := func(cpu int32) cluster.Amount {
		return cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: cpu, MemMiB: 1}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, err := cluster.NewState(cluster.Spec{Servers: []cluster.ServerSpec{
			{GPUs: 4, CPUMilli: 8000, MemMiB: cluster.Unlimited}, {GPUs: 4, CPUMilli: 8000, MemMiB: cluster.Unlimited},
		}}, 4)
		must.Do(t, err)
		least, most := [2]int32{500, 900}, [2]int32{3000, 5000} // by server
		protected := cluster.JobID(rapid.IntRange(0, 3).Draw(t, "protected"))
		for id := range cluster.JobID(4) {
			s.Submit(id, &cluster.JobSpec{Name: "j", Workers: 2, Request: amount(1000)})
			if rapid.Bool().Draw(t, "runs") {
				p, _ := s.BestFit(id, nil)
				p[0].CPUMilli = int32(rapid.IntRange(1, 3).Draw(t, "cores")) * 1000
				tx := s.Begin(nil)
				if tx.Place(id, p) != nil {
					p[0].CPUMilli = 1000
					must.Do(t, tx.Place(id, p))
				}
				tx.End()
			}
		}
		var all []cluster.Proposal
		for range rapid.IntRange(1, 6).Draw(t, "proposals") {
			id := cluster.JobID(rapid.IntRange(0, 3).Draw(t, "job"))
			p := cluster.Proposal{Kind: cluster.OpPlace, Job: id}
			p.Placement = cluster.Placement{{Server: cluster.ServerID(rapid.IntRange(0, 1).Draw(t, "server")), Workers: 2,
				Amount: amount(int32(rapid.IntRange(1, 60).Draw(t, "CPU")) * 100)}}
			if s.Phase(id) == cluster.Running {
				p.Kind, p.Placement[0].Server = cluster.OpResize, s.Placement(id)[0].Server
			}
			if rapid.Bool().Draw(t, "share") {
				p.Placement[0].GPUMilli = 500
			}
			all = append(all, p)
		}
		was, copied := map[cluster.JobID]int32{}, slices.Clone(all)
		for _, id := range s.Running() {
			was[id] = s.Placement(id)[0].CPUMilli
		}
		limits := decide.Limits{
			Protected: func(id cluster.JobID) bool { return id == protected },
			Amounts: func(_ cluster.JobID, at cluster.ServerID) (cluster.Amount, cluster.Amount) {
				return amount(least[at]), amount(most[at])
			},
		}
		tx := s.Begin(nil)
		held := limits.Apply(tx, all, nil)
		tx.End()
		if !slices.EqualFunc(all, copied, func(a, b cluster.Proposal) bool { return slices.Equal(a.Placement, b.Placement) }) {
			t.Error("the proposals have changed")
		}
		for _, h := range held {
			if h.Reason == decide.HeldStops {
				t.Errorf("%+v counts as a stop", h)
			}
		}
		for _, id := range s.Running() {
			has := s.Placement(id)[0]
			if has.CPUMilli < least[has.Server] || has.CPUMilli > most[has.Server] || has.GPUMilli != cluster.WholeGPU {
				t.Errorf("job %d holds %+v", id, has)
			}
			if before, ran := was[id]; ran && id == protected && has.CPUMilli < before {
				t.Errorf("the protected job %d holds %d in place of %d", id, has.CPUMilli, before)
			}
		}
	})
}
