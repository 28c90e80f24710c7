package baselines_test

import (
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

func init() { baselines.Tested = all.Table() }

// TestPoliciesDecideWithoutGPUs checks that jobs wait, whatever the policy, while a cluster has no GPUs: its nodes are cordoned,
// or others hold all of them.
func TestPoliciesDecideWithoutGPUs(t *testing.T) {
	for _, name := range slices.Concat(all.Table().Names(), []string{"srtf+menu", "srsf+menu:wait=true", "srtf+move", "fifo+loan"}) {
		policy := must.Get(all.New(name))(t)
		must.Do(t, policy.Reset(1))
		s := must.Get(cluster.NewState(cluster.Uniform(2, 0), 2))(t)
		for id := range cluster.JobID(2) {
			s.Submit(id, &cluster.JobSpec{
				Workers: 1 + int32(id), Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: time.Hour, MinWorkers: 1, MaxWorkers: 4,
			})
		}
		tx := s.Begin(s.Introduce())
		if err := policy.Schedule(tx); err != nil || len(s.Running()) > 0 {
			t.Errorf("%s: %v, %d jobs run", name, err, len(s.Running()))
		}
		tx.End()
	}
}
