package elastic_test

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

// TestGrowsWithinQuota checks that a job whose workers hold larger shares than it asked for grows only as far as its tenant's quota
// allows such shares.
func TestGrowsWithinQuota(t *testing.T) {
	spec := cluster.Uniform(2, 2)
	spec.Quotas = []cluster.Quota{{Tenant: "ann", GPUs: 2}}
	s := must.Get(cluster.NewState(spec, 1))(t)
	s.Submit(0, &cluster.JobSpec{Name: "j", Tenant: "ann", Workers: 2, MinWorkers: 1, MaxWorkers: 3,
		Request: cluster.Amount{GPUMilli: 500}, Estimate: time.Hour})
	tx := s.Begin(nil)
	held := cluster.Piece{Workers: 1, Amount: cluster.Amount{GPUMilli: 800}}
	must.Do(t, tx.Place(0, cluster.Placement{held}))
	tx.End()
	sched := elastic.New("most", most{}, elastic.Literal())
	must.Do(t, sched.Reset(1))
	tx = s.Begin(s.Introduce())
	must.Do(t, sched.Schedule(tx))
	if got := s.Placement(0); got.Workers() != 2 || got.GPUMilli() != 1600 {
		t.Errorf("placement %v, want 2 workers with 800 thousandths each: one more has no room in the quota of 2000", got)
	}
}
