package baselines

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestBackfill uses 4 GPUs. Job 1 does not fit until job 0 ends at 20s. Job 2 would end in time, job 3 at 22s. Job 4 is the
// shortest.
func TestBackfill(t *testing.T) {
	const s = time.Second
	whole := func(submit, work time.Duration, workers int32) job {
		j := job{Work: work}
		j.Submit, j.Workers, j.Estimate, j.Request.GPUMilli = submit, workers, work, cluster.WholeGPU
		return j
	}
	after := func(first int32) []job {
		return []job{whole(0, 20*s, 3), whole(s, 8*s, first), whole(2*s, 9*s, 1), whole(12*s, 10*s, 1), whole(13*s, s, 1)}
	}
	untold := after(4)
	for i := range untold {
		untold[i].Estimate = 0
	}
	for _, c := range []struct {
		name string
		jobs []job
		want string
	}{
		{"fifo", after(4), "0s 0, 20s 1, 28s 2, 28s 3, 28s 4"},
		{"fifo:backfill=easy", after(4), "0s 0, 2s 2, 13s 4, 20s 1, 28s 3"},
		{"fifo:backfill=easy", after(3), "0s 0, 2s 2, 12s 3, 20s 1, 22s 4"},
		{"fifo:backfill=easy", untold, "0s 0, 20s 1, 28s 2, 28s 3, 28s 4"},
		{"sjf:backfill=easy", after(4), "0s 0, 2s 2, 13s 4, 20s 1, 28s 3"},
		{"qssf", after(4), "0s 0, 2s 2, 12s 3, 20s 4, 22s 1"},
		{"qssf:backfill=easy", after(4), "0s 0, 2s 2, 12s 3, 20s 4, 22s 1"},
	} {
		p := must.Get(New(c.name))(t)
		if got := starts(run(t, sim.Config{Cluster: cluster.Uniform(1, 4)}, c.jobs, p, 1)); got != c.want {
			t.Errorf("%s: starts %s, want %s", c.name, got, c.want)
		}
	}
}

// TestBackfillOnNamedServers uses two servers of 4 GPUs. Job 1 may only use server 0, where all GPUs are free when job 0 ends at 20s.
// Jobs 2 and 4 may only use server 0, too: job 4 would end in time, and job 2 would not. Job 3 may only use server 1.
func TestBackfillOnNamedServers(t *testing.T) {
	const s = time.Second
	on := func(server cluster.ServerID, submit, work time.Duration, workers int32) job {
		j := job{Work: work}
		j.Submit, j.Workers, j.Estimate, j.Request.GPUMilli = submit, workers, work, cluster.WholeGPU
		j.Where = cluster.NewServerSet(8)
		j.Where.Add(server)
		j.Where.Add(server + 4) // which the cluster does not have
		return j
	}
	jobs := []job{on(0, 0, 20*s, 3), on(0, s, 8*s, 4), on(0, 2*s, 30*s, 1), on(1, 3*s, 30*s, 1), on(0, 4*s, 10*s, 1)}
	p := must.Get(New("fifo:backfill=easy"))(t)
	log := run(t, sim.Config{Cluster: cluster.Uniform(2, 4)}, jobs, p, 1)
	if got, want := starts(log), "0s 0, 3s 3, 4s 4, 20s 1, 28s 2"; got != want {
		t.Errorf("starts %s, want %s", got, want)
	}
}

// starts returns when which job starts.
func starts(log *sim.Log) string {
	var all []string
	for i := range log.Records {
		if r := &log.Records[i]; r.Kind == sim.Start {
			all = append(all, r.At.String()+" "+string(rune('0'+r.Job)))
		}
	}
	return strings.Join(all, ", ")
}

// TestBackfillKeepsItsPromise checks on one server, with true estimates, that fifo:backfill=easy starts every job no later
// than it was going to be when the job came first among those that wait.
func TestBackfillKeepsItsPromise(t *testing.T) {
	behind := 0
	rapid.Check(t, func(t *rapid.T) {
		cfg := sim.Config{Cluster: cluster.Uniform(1, rapid.IntRange(1, 8).Draw(t, "GPUs")), Physics: physics.Ideal()}
		jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(1, 20).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i].Estimate = jobs[i].Work
		}
		p := must.Get(New("fifo:backfill=easy"))(t)
		w := &promises{Scheduler: p, by: map[cluster.JobID]time.Duration{}}
		log := run(t, cfg, jobs, w, 1)
		begun := map[cluster.JobID]bool{}
		for i := range log.Records {
			r := &log.Records[i]
			if r.Kind != sim.Start {
				continue
			}
			begun[r.Job] = true
			if by, ok := w.by[r.Job]; ok && r.At > by {
				t.Fatalf("job %d starts at %v, want it by %v", r.Job, r.At, by)
			}
			for id := range jobs {
				if !begun[cluster.JobID(id)] && jobs[id].Submit < jobs[r.Job].Submit {
					behind++
					break
				}
			}
		}
	})
	if behind == 0 {
		t.Error("no job started before an earlier one")
	}
}

// promises records when each job would start that comes first among the waiting ones, the first time that it does.
type promises struct {
	cluster.Scheduler
	by map[cluster.JobID]time.Duration
}

func (p *promises) Schedule(tx *cluster.Txn) error {
	if err := p.Scheduler.Schedule(tx); err != nil {
		return err
	}
	s := tx.View()
	if len(s.Pending()) == 0 {
		return nil
	}
	first := slices.MinFunc(s.Pending(), func(a, b cluster.JobID) int {
		if d := s.Spec(a).Submit - s.Spec(b).Submit; d != 0 {
			return int(d)
		}
		return int(a - b)
	})
	if _, known := p.by[first]; !known {
		var free cluster.Shadow
		free.Look(s)
		p.by[first] = s.Now() + free.Until(s.Spec(first).GPUMilli())
	}
	return nil
}
