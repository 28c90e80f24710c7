package loan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/loan"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

func TestOpportunistic(t *testing.T) {
	spec := typed(pool(3, 2), "V100", "V100", "V100", "T4", "T4")
	jobs := []trace.Job{
		of("V100", whole("v1", 0, 100, 8, 0, 0)),
		of("V100|T4", whole("f1", 0, 30, 3, 0, 0)),
		of("V100|T4", whole("f2", 1, 30, 8, 0, 0)),
		of("V100|T4", whole("f3", 2, 5, 1, 0, 0)),  // waits behind f2, then takes a training server
		of("V100|T4", whole("big", 3, 5, 9, 0, 0)), // larger than the pool
		of("V100", whole("v2", 3, 5, 1, 0, 0)),     // waits behind big
	}
	cfg := sim.Config{Cluster: spec, Demand: offers([2]int{0, 2}, [2]int{50, 1}, [2]int{80, 2}), Grace: time.Second}
	c := loan.DefaultOpportunistic()
	c.Policy = loan.SCF // takes the lowest id among equal ones
	got := strings.Join(timeline(play(t, cfg, jobs, loan.Opportunistic("opportunistic", c), 1)), "\n")
	want := strings.ReplaceAll(strings.TrimSpace(`
		0s loan server 3
		0s loan server 4
		0s start f1 3:3
		0s start v1 0:4 1:4
		30s finish f1
		30s start f2 3:4 4:4
		30s start f3 2:1
		35s finish f3
		50s preempt f2
		50s reclaim server 3
		1m20s loan server 3
		1m20s start f2 3:4 4:4
		1m30s finish f2
		1m40s finish v1
		1m40s start big 0:4 1:4 2:1
		1m40s start v2 2:1
		1m45s finish big
		1m45s finish v2`), "\t", "")
	if got != want {
		t.Errorf("schedule\n%s\nwant\n%s", got, want)
	}
}

// TestOpportunisticLastResort checks that if nothing runs and neither queue's first job fits its pool, the one submitted first
// starts anywhere.
func TestOpportunisticLastResort(t *testing.T) {
	big, fungible := whole("big", 0, 5, 10, 0, 0), whole("fungible", 0, 5, 8, 0, 0)
	cfg := sim.Config{Cluster: pool(2, 2), Demand: offers([2]int{0, 1})}
	for _, c := range []struct {
		jobs []trace.Job
		want string
	}{
		{[]trace.Job{big, fungible}, "0s start big 0:4 1:4 2:2, 5s finish big, 5s start fungible 0:4 1:4, 10s finish fungible"},
		{[]trace.Job{fungible, big}, "0s start fungible 0:4 1:4, 5s finish fungible, 5s start big 0:4 1:4 2:2, 10s finish big"},
	} {
		p := loan.Opportunistic("o", loan.DefaultOpportunistic())
		got, want := strings.Join(timeline(play(t, cfg, c.jobs, p, 1)), ", "), "0s loan server 2, "+c.want
		if got != want {
			t.Errorf("schedule %s, want %s", got, want)
		}
	}
}

// TestOpportunisticTypes checks that a gang uses one GPU type, unless it may mix them.
func TestOpportunisticTypes(t *testing.T) {
	mixed := whole("mixed", 0, 5, 8, 0, 0)
	mixed.Mixed = true
	jobs := []trace.Job{of("V100", whole("v", 0, 20, 4, 0, 0)), mixed, whole("one", 1, 5, 2, 0, 0)}
	cfg := sim.Config{Cluster: typed(pool(1, 2), "V100", "T4", "P4")}
	got := strings.Join(timeline(play(t, cfg, jobs, loan.Opportunistic("o", loan.DefaultOpportunistic()), 1)), ", ")
	want := "0s loan server 1, 0s loan server 2, 0s start mixed 1:4 2:4, 0s start v 0:4, 5s finish mixed, 5s start one 1:2, " +
		"10s finish one, 20s finish v"
	if got != want {
		t.Errorf("schedule %s, want %s", got, want)
	}
}

// TestOpportunisticKeepsPoolsApart checks that, unless nothing else runs, jobs that are not fungible start only on training
// servers. A fungible job starts there only if it was submitted before all others that wait for them. Each queue is in the order
// of submission.
func TestOpportunisticKeepsPoolsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, jobs := drawEpisode(t)
		l := play(t, cfg, jobs, loan.Opportunistic("o", loan.DefaultOpportunistic()), 1)
		var inference cluster.Spec
		for _, v := range cfg.Cluster.Servers {
			if v.Pool == cluster.Inference {
				inference.Servers = append(inference.Servers, v)
			}
		}
		running := map[cluster.JobID]bool{}
		waiting := [2][]cluster.JobID{}
		for i := range l.Records {
			r := &l.Records[i]
			home := cluster.Training
			if r.Kind != sim.End && len(inference.Servers) > 0 && len(jobs) > 0 {
				if j := &jobs[r.Job].JobSpec; inference.Capacity(j) >= int64(j.Workers) {
					home = cluster.Inference
				}
			}
			switch r.Kind {
			case sim.Submit, sim.Interrupt, sim.Preempt:
				delete(running, r.Job)
				waiting[home] = append(waiting[home], r.Job)
			case sim.Finish:
				delete(running, r.Job)
			case sim.Start:
				for _, p := range l.Placement(r) {
					if cfg.Cluster.Servers[p.Server].Pool == home || len(running) == 0 {
						continue
					}
					if home == cluster.Training || slices.ContainsFunc(waiting[cluster.Training], func(id cluster.JobID) bool {
						return before(jobs, id, r.Job)
					}) {
						t.Fatalf("at %v job %d starts on %v while %v run and %v wait", r.At, r.Job, l.Placement(r), running, waiting)
					}
				}
				for _, id := range waiting[home] {
					if before(jobs, id, r.Job) {
						t.Fatalf("at %v job %d starts before %d", r.At, r.Job, id)
					}
				}
				waiting[home] = slices.DeleteFunc(waiting[home], func(id cluster.JobID) bool { return id == r.Job })
				running[r.Job] = true
			}
		}
	})
}

// before reports whether a job was submitted before another.
func before(jobs []trace.Job, a, b cluster.JobID) bool {
	return jobs[a].Submit < jobs[b].Submit || jobs[a].Submit == jobs[b].Submit && a < b
}
