package sim_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/backlog"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// TestBacklogOfAnInstant checks by hand what is left of a running job, a waiting one, a stopped one and one in its restart pause,
// on GPUs of two types, before and at a later instant.
func TestBacklogOfAnInstant(t *testing.T) {
	f := profile.Lookup("resnet50-32")
	slow, _ := f.GPUSpeed("K80")
	job := func(name string, workers int32, hours time.Duration) trace.Job {
		j := trace.Job{Work: hours * time.Hour}
		j.Name, j.Workers, j.Model = name, workers, "resnet50-32"
		j.Request.GPUMilli = cluster.WholeGPU
		return j
	}
	jobs := []trace.Job{job("runs", 1, 4), job("waits", 2, 3), job("elastic", 2, 6), job("fast only", 1, 5)}
	jobs[2].MaxWorkers, jobs[3].GPUType = 4, "V100"
	cfg := sim.Config{Cluster: cluster.Uniform(2, 2), Physics: physics.Compose(physics.GPUType{}), Restart: sim.Pause(30 * time.Minute)}
	cfg.Cluster.Servers[0].GPUType, cfg.Cluster.Servers[1].GPUType = "V100", "K80"
	s := must.Get(sim.New(cfg, jobs))(t)
	tx, _ := s.Next()
	one := cluster.Amount{GPUMilli: cluster.WholeGPU}
	place := func(id cluster.JobID, server cluster.ServerID) {
		must.Do(t, tx.Place(id, cluster.Placement{{Server: server, Workers: jobs[id].Workers, Amount: one}}))
	}
	place(0, 0)
	place(2, 1)
	tx.WakeAt(time.Hour)
	s.Commit()
	if tx, _ = s.Next(); tx.Now() != time.Hour {
		t.Fatalf("woke at %v", tx.Now())
	}
	must.Do(t, tx.Preempt(2))
	s.Commit()
	both := 2 + 2*slow
	check := func(at time.Duration, want map[cluster.JobID]backlog.Job) {
		t.Helper()
		for _, got := range s.Backlog(at, nil) {
			w, ok := want[got.ID]
			near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
			if !ok || !near(got.Work, w.Work) || !near(got.Capacity, w.Capacity) || !near(got.Least, w.Least) || got.Weight != 1 {
				t.Errorf("at %v: %+v, want %+v", at, got, w)
			}
			delete(want, got.ID)
		}
		if len(want) > 0 {
			t.Errorf("at %v: no %v", at, want)
		}
	}
	left := 6 - slow // hours of the elastic job
	waits, fast := backlog.Job{Work: 6, Capacity: both, Least: 3}, backlog.Job{Work: 5, Capacity: 2, Least: 5}
	stopped := backlog.Job{Work: 2 * (left + 0.5), Capacity: both, Least: left/2 + 0.5}
	check(time.Hour, map[cluster.JobID]backlog.Job{0: {Work: 3, Capacity: both, Least: 3}, 1: waits, 2: stopped, 3: fast})
	check(2*time.Hour, map[cluster.JobID]backlog.Job{0: {Work: 2, Capacity: both, Least: 2}, 1: waits, 2: stopped, 3: fast})
}

// TestBacklogOfARestart checks what is left of a job in the middle of its restart pause, and after it.
func TestBacklogOfARestart(t *testing.T) {
	jobs := []trace.Job{{Work: 4 * time.Hour}}
	jobs[0].Name, jobs[0].Workers, jobs[0].Request.GPUMilli = "stopped", 1, cluster.WholeGPU
	s := must.Get(sim.New(sim.Config{Cluster: cluster.Uniform(1, 1), Restart: sim.Pause(time.Hour)}, jobs))(t)
	for range 2 { // a start, and a restart an hour later
		tx, _ := s.Next()
		if len(s.State().Running()) > 0 {
			must.Do(t, tx.Preempt(0))
		}
		must.Do(t, tx.Place(0, cluster.Placement{{Workers: 1, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}}))
		tx.WakeAt(time.Hour)
		s.Commit()
	}
	for minutes, want := range map[time.Duration]float64{60: 4, 90: 3.5, 120: 3, 150: 2.5} {
		if got := s.Backlog(minutes*time.Minute, nil)[0]; got.Work != want || got.Least != want {
			t.Errorf("after %d minutes: %+v, want %v hours", minutes, got, want)
		}
	}
}

// TestBacklogMeetsTheEnd checks on drawn episodes, for every stretch of time in which nothing happens, that the work left that
// Backlog predicts for its end is what is left then, and that jobs that have ended by then have none left.
func TestBacklogMeetsTheEnd(t *testing.T) {
	simtest.Many(t, 100, func(t *rapid.T) {
		e := simtest.Draw(t)
		s := simtest.Begin(t, e)
		p := must.Get(baselines.New("srtf"))(t)
		ahead := map[cluster.JobID]float64{}
		s.Watch(func(_, to time.Duration) {
			clear(ahead)
			for _, j := range s.Backlog(to, nil) {
				ahead[j.ID] = j.Work
			}
		})
		must.Do(t, p.Reset(1))
		for {
			tx, ok := s.Next()
			if !ok {
				return
			}
			now := map[cluster.JobID]float64{}
			for _, j := range s.Backlog(tx.Now(), nil) {
				now[j.ID] = j.Work
			}
			for id, work := range ahead {
				if was, ok := now[id]; ok && len(e.Config.Outages) == 0 && math.Abs(was-work) > 1e-6 {
					t.Fatalf("job %d has %v GPU-hours left at %v, foreseen were %v", id, was, tx.Now(), work)
				} else if !ok && work > 1e-6 {
					t.Fatalf("job %d ended at %v with %v GPU-hours left", id, tx.Now(), work)
				}
			}
			must.Do(t, p.Schedule(tx))
			s.Commit()
		}
	})
}
