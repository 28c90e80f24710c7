package elastic_test

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
)

// TestGrowsWithinQuota checks that a job whose workers hold larger shares than it asked for grows only as far as its tenant's quota
// allows such shares.
func TestGrowsWithinQuota(t *testing.T) {
	spec := cluster.Uniform(2, 2)
	spec.Quotas = []cluster.Quota{{Tenant: "ann", GPUs: 2}}
	s, err := cluster.NewState(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.Submit(0, &cluster.JobSpec{Name: "j", Tenant: "ann", Workers: 2, MinWorkers: 1, MaxWorkers: 3,
		Request: cluster.Amount{GPUMilli: 500}, Estimate: time.Hour})
	tx := s.Begin(nil)
	held := cluster.Piece{Workers: 1, Amount: cluster.Amount{GPUMilli: 800}}
	if err := tx.Place(0, cluster.Placement{held}); err != nil {
		t.Fatal(err)
	}
	tx.End()
	sched := elastic.New("most", most{}, elastic.Literal())
	if err := sched.Reset(1); err != nil {
		t.Fatal(err)
	}
	tx = s.Begin(s.Introduce())
	if err := sched.Schedule(tx); err != nil {
		t.Fatal(err)
	}
	if got := s.Placement(0); got.Workers() != 2 || got.GPUMilli() != 1600 {
		t.Errorf("placement %v, want 2 workers with 800 thousandths each: one more has no room in the quota of 2000", got)
	}
}
