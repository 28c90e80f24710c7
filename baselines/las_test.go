package baselines

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		l    levels
		got  time.Duration
		of   int
		next time.Duration // 0: on the lowest level
	}{
		{levels{kind: single}, 0, 0, 3200 * time.Second},
		{levels{kind: single}, 3200*time.Second - 1, 0, 3200 * time.Second},
		{levels{kind: single}, 3200 * time.Second, 1, 0},
		{levels{kind: doubling, first: time.Minute}, 0, 0, time.Minute},
		{levels{kind: doubling, first: time.Minute}, time.Minute - 1, 0, time.Minute},
		{levels{kind: doubling, first: time.Minute}, time.Minute, 1, 2 * time.Minute},
		{levels{kind: doubling, first: time.Minute}, 3*time.Minute + 59*time.Second, 2, 4 * time.Minute},
		{levels{kind: doubling, first: time.Minute}, 4 * time.Minute, 3, 8 * time.Minute},
		{levels{kind: doubling, first: time.Minute}, math.MaxInt64, 28, 0},
	} {
		next, _ := c.l.next(c.got)
		if of := c.l.of(c.got); of != c.of || next != c.next {
			t.Errorf("%+v at %v: level %d until %v, want %d until %v", c.l, c.got, of, next, c.of, c.next)
		}
	}
}

// Levels only sink as service grows, and a job leaves its level at the instant that next returns and not before.
func TestLevelsSink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := levels{kind: rapid.SampledFrom([]levelKind{doubling, single}).Draw(t, "kind"),
			first: time.Duration(rapid.Int64Range(int64(time.Second), int64(1000*time.Hour)).Draw(t, "first"))}
		got := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "got"))
		bound, ok := l.next(got)
		if !ok {
			if l.of(math.MaxInt64) != l.of(got) {
				t.Fatalf("%+v: no bound behind %v, but a lower level", l, got)
			}
			return
		}
		if bound <= got || l.of(bound-1) != l.of(got) || l.of(bound) != l.of(got)+1 {
			t.Fatalf("%+v at %v: bound %v; levels %d, %d, %d", l, got, bound, l.of(got), l.of(bound-1), l.of(bound))
		}
	})
}

// lasOf returns las with another highest level.
func lasOf(t rapid.TB, name string, first time.Duration) *preemptive {
	made := must.Get(New(name))(t)
	p, l := made.(*preemptive), levels{doubling, first}
	p.order, p.alarm = l.order, l.sinks
	return p
}

// The level doubles with the service: a job that has had its minute makes way for one that has not, and takes its turn again
// when that one sinks as low as it.
func TestLASDoublesItsLevels(t *testing.T) {
	long, late := job{Work: 600 * time.Second}, job{Work: 600 * time.Second}
	long.Name, long.Workers, long.Request.GPUMilli = "long", 1, cluster.WholeGPU
	late.Name, late.Workers, late.Request.GPUMilli, late.Submit = "late", 1, cluster.WholeGPU, 150*time.Second
	p := lasOf(t, "las", time.Minute)
	got := events(run(t, sim.Config{Cluster: cluster.Uniform(1, 1)}, []job{long, late}, p, 1))
	want := []string{"0s start 0", "2m30s preempt 0", "2m30s start 1", "4m30s preempt 1", "4m30s start 0", "6m0s preempt 0"}
	if !slices.Equal(got[:len(want)], want) {
		t.Errorf("schedule %q, want it to begin %q", got, want)
	}
}

// Once las has seen a restart, it stops no job before the job has run for the quantum, so restarts never take more than their
// part of the time, however long they are. Every job ends.
func TestQuantumBoundsRestarts(t *testing.T) {
	stops := 0
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		pause := time.Duration(rapid.SampledFrom([]int{5, 40, 1800}).Draw(t, "restart")) * time.Second
		cfg.Restart = sim.Pause(pause)
		jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(1, 15).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i].Work *= time.Duration(rapid.IntRange(1, 100).Draw(t, "times"))
		}
		times := rapid.SampledFrom([]int{1, 4}).Draw(t, "quantum")
		p := lasOf(t, fmt.Sprintf("las:quantum=%d", times), 10*time.Second)
		log := run(t, cfg, jobs, p, 1)
		if !log.Outcome.Terminated {
			t.Fatalf("not all jobs ended: %+v", log.Outcome)
		}
		begun, restarted := make([]time.Duration, len(jobs)), make([]bool, len(jobs))
		again := map[cluster.JobID]time.Duration{} // jobs that run after a restart which las has not seen yet
		known := false
		for i := range log.Records {
			r := &log.Records[i]
			for id, at := range again { // a decision at which the job still runs
				known = known || r.At > at && !(r.Kind == sim.Finish && r.Job == id)
			}
			switch r.Kind {
			case sim.Start:
				if restarted[r.Job] {
					again[r.Job] = r.At
				}
				begun[r.Job], restarted[r.Job] = r.At, true
			case sim.Finish:
				delete(again, r.Job)
			case sim.Preempt:
				stops++
				if least := time.Duration(times) * pause; known && r.At-begun[r.Job] < least {
					t.Fatalf("job %d was started at %v and stopped at %v, want it to run for %v", r.Job, begun[r.Job], r.At, least)
				}
				delete(again, r.Job)
			}
		}
	})
	if stops == 0 {
		t.Error("no job was ever stopped")
	}
}
