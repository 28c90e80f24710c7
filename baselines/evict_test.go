package baselines

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestEvict uses a server of two GPUs on which two jobs leave 0.6 and 0.3 of a GPU. The third job needs 0.8: less than that, but no
// GPU has as much.
func TestEvict(t *testing.T) {
	jobs := make([]job, 3)
	for i, milli := range []int32{400, 700, 800} {
		j := &jobs[i]
		j.Name, j.Workers, j.Request.GPUMilli, j.Work = fmt.Sprint(i), 1, milli, 100*time.Second
	}
	jobs[2].Submit, jobs[2].Work = 10*time.Second, 5*time.Second
	for i := range jobs {
		jobs[i].Estimate = jobs[i].Work
	}
	waits := []string{"0s start 0", "0s start 1", "1m40s finish 0", "1m40s finish 1", "1m40s start 2", "1m45s finish 2", "1m45s end 0"}
	stops := []string{
		"0s start 0", "0s start 1", "10s preempt 1", "10s start 2", "15s finish 2", "15s start 1", "1m40s finish 0", "1m45s finish 1", "1m45s end 0",
	}
	for name, want := range map[string][]string{
		"srsf": waits, "srsf:evict=true": stops, "srtf:evict=true": stops, "srsf:evict=true+menu": stops, "synergy:evict=true": stops,
	} {
		p := must.Get(New(name))(t)
		if got := events(run(t, sim.Config{Cluster: cluster.Uniform(1, 2)}, jobs, p, 1)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestEvictsForJobsAhead checks that a job is stopped only if one that comes before it in the order starts.
func TestEvictsForJobsAhead(t *testing.T) {
	for _, name := range []string{"srsf:evict=true", "srsf:evict=true:place=compact", "srsf:evict=true+menu"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := drawConfig(t)
				jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(1, 15).Draw(t, "jobs"))
				mix(t, &cfg, jobs)
				p := must.Get(New(name))(t)
				run(t, cfg, jobs, ahead{p}, 1)
			})
		})
	}
}

// ahead returns an error if a job was stopped although none that comes before it by srsf was started.
type ahead struct{ cluster.Scheduler }

func (a ahead) Schedule(tx *cluster.Txn) error {
	s, keys := tx.View(), map[cluster.JobID]ticket{}
	for _, ids := range [][]cluster.JobID{s.Pending(), s.Running()} {
		for _, id := range ids {
			key, err := serviceLeft(s, id, 0)
			if err != nil {
				return err
			}
			keys[id] = ticket{key, s.Spec(id).Submit, id}
		}
	}
	if err := a.Scheduler.Schedule(tx); err != nil {
		return err
	}
	for _, stop := range tx.Ops() {
		if stop.Kind == cluster.OpPreempt && !slices.ContainsFunc(tx.Ops(), func(start cluster.Op) bool {
			return start.Kind == cluster.OpPlace && keys[start.Job].before(keys[stop.Job])
		}) {
			return fmt.Errorf("job %d was stopped for none that comes before it", stop.Job)
		}
	}
	return nil
}
