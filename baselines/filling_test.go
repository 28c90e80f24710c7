package baselines

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestFilling uses 4 GPUs and jobs that need 1, 2 and 2 of them, the smallest with the least service. By service alone, the first
// two would leave a GPU idle.
func TestFilling(t *testing.T) {
	jobs := make([]job, 3)
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.Workers, j.Work = fmt.Sprint(i), min(int32(i)+1, 2), time.Duration(10+5*i)*time.Second
		j.Estimate, j.Request.GPUMilli = j.Work, cluster.WholeGPU
	}
	for name, want := range map[string][]string{
		"srsf":          {"0s start 0", "0s start 1", "10s finish 0", "10s start 2", "15s finish 1", "30s finish 2", "30s end 0"},
		"serverfilling": {"0s start 1", "0s start 2", "15s finish 1", "15s start 0", "20s finish 2", "25s finish 0", "25s end 0"},
	} {
		p := must.Get(New(name))(t)
		if got := events(run(t, sim.Config{Cluster: cluster.Uniform(1, 4)}, jobs, p, 1)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestFillingFills checks what the source proves: with powers of two, on one server, no GPU is idle while the live jobs need all.
func TestFillingFills(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := sim.Config{Cluster: cluster.Uniform(1, 1<<rapid.IntRange(0, 4).Draw(t, "log of GPUs")), Physics: physics.Ideal()}
		jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(1, 25).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i].Workers = min(1<<rapid.IntRange(0, 4).Draw(t, "log of workers"), int32(cfg.Cluster.GPUs()))
		}
		p := must.Get(New("serverfilling"))(t)
		run(t, cfg, jobs, fills{p}, 1)
	})
}

// fills returns an error if GPUs are idle after a decision although the live jobs need them all.
type fills struct{ cluster.Scheduler }

func (f fills) Schedule(tx *cluster.Txn) error {
	err := f.Scheduler.Schedule(tx)
	s, need := tx.View(), int64(0)
	for _, ids := range [][]cluster.JobID{s.Pending(), s.Running()} {
		for _, id := range ids {
			need += int64(s.Spec(id).Workers)
		}
	}
	if total := s.Total().GPUMilli / cluster.WholeGPU; err == nil && s.FreeTotal() > max(total-need, 0) {
		err = fmt.Errorf("%d of %d GPUs are idle while jobs need %d", s.FreeTotal(), total, need)
	}
	return err
}
