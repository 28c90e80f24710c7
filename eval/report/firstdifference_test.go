package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval/report"
	"github.com/clustergym/clustergym/internal/must"
)

func job(name string, workers int32, submit, work time.Duration) trace.Job {
	return trace.Job{JobSpec: cluster.JobSpec{
		Name: name, Workers: workers, Submit: submit, Estimate: work, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}, Work: work}
}

func schedule(t rapid.TB, policy string, jobs []trace.Job) *sim.Log {
	t.Helper()
	sched := must.Get(baselines.New(policy))(t)
	return simtest.Play(t, &sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(2, 4)}, Jobs: jobs}, sched, 1)
}

// TestWhereSchedulesPart checks the explanation of a difference: two jobs wait that do not fit together, and the two policies
// start different ones.
func TestWhereSchedulesPart(t *testing.T) {
	jobs := []trace.Job{
		job("first", 8, 0, 60*time.Second), job("long", 6, 10*time.Second, time.Hour), job("short", 4, 20*time.Second, time.Minute),
	}
	got := must.Get(report.Differ(schedule(t, "fifo", jobs), schedule(t, "sjfskip", jobs)))(t)
	if got.At != time.Minute || got.Job != "long" {
		t.Errorf("at %v about %s, want 1m0s about long", got.At, got.Job)
	}
	want := []string{"fifo: start long: 6 workers (6 GPUs) on server-0, server-1", "sjfskip: start short: 4 workers (4 GPUs) on server-0"}
	if diff := cmp.Diff(want, got.What); diff != "" {
		t.Errorf("what (-want +got):\n%s", diff)
	}
	if len(got.Why) != 2 || !strings.HasPrefix(got.Why[0], "fifo: first to come of 2") || !strings.Contains(got.Why[1], "shortest") {
		t.Errorf("why %q", got.Why)
	}
}

// TestWhereOneDoesNothing checks a difference in which one policy preempts a job and the other does nothing.
func TestWhereOneDoesNothing(t *testing.T) {
	jobs := []trace.Job{job("long", 8, 0, time.Hour), job("short", 4, 10*time.Second, time.Minute)}
	got := must.Get(report.Differ(schedule(t, "sjfskip", jobs), schedule(t, "srtf", jobs)))(t)
	want := []string{"srtf: stop long", "sjfskip: nothing more at that instant"}
	if diff := cmp.Diff(want, got.What); diff != "" || got.At != 10*time.Second {
		t.Errorf("at %v, what (-want +got):\n%s", got.At, diff)
	}
}

// TestDifferFindsTheFirst checks, for random jobs, that Differ finds a difference if and only if the schedules differ, at the
// time of the first record that differs, and that a schedule does not differ from itself.
func TestDifferFindsTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var jobs []trace.Job
		at := time.Duration(0)
		for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			at += time.Duration(rapid.IntRange(0, 40).Draw(t, "gap")) * time.Second
			work := time.Duration(rapid.IntRange(1, 200).Draw(t, "work")) * time.Second
			jobs = append(jobs, job(string(rune('a'+i)), int32(rapid.IntRange(1, 8).Draw(t, "workers")), at, work))
		}
		names := rapid.SampledFrom([][2]string{{"fifo", "sjfskip"}, {"srtf", "las"}, {"fifo", "srtf"}, {"random", "sjf"}}).Draw(t, "policies")
		a, b := schedule(t, names[0], jobs), schedule(t, names[1], jobs)
		if d, err := report.Differ(a, a); d != nil || err != nil {
			t.Fatalf("a schedule differs from itself: %+v, %v", d, err)
		}
		d := must.Get(report.Differ(a, b))(t)
		i, differ := sim.FirstDifference(a, b)
		if differ != (d != nil) {
			t.Fatalf("record %d differs %v, found %+v", i, differ, d)
		}
		if differ && (d.At != min(a.Records[i].At, b.Records[i].At) || len(d.What) != 2 || d.What[0] == d.What[1] || len(d.Why) == 0) {
			t.Fatalf("record %d at %v and %v, found %+v", i, a.Records[i].At, b.Records[i].At, d)
		}
	})
}
