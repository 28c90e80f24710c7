package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/table"
)

// replayed is a finished replay with the simulator's results.
type replayed struct {
	window    replayWindow
	jobs      []gangJob
	lives     []*gangLife
	admitted  []*jobLife // if the gangs are Jobs
	began     time.Time
	predicted *prediction // for the planned jobs
	measured  *prediction // for the jobs of asMeasured
}

// asMeasured returns the jobs as they were in the cluster: submitted when their pods existed, and running for as long as their
// pods used nodes.
func (r *replayed) asMeasured() []trace.Job {
	all := simulated(r.jobs)
	for i, life := range r.lives {
		all[i].Submit, all[i].Work = max(life.made.Sub(r.began), 0), max(life.ended.Sub(life.bound), time.Millisecond)
	}
	return all
}

// late returns the delay with which a gang's pods were created.
func (r *replayed) late(i int) time.Duration { return r.lives[i].made.Sub(r.began) - r.jobs[i].Submit }

// wait returns how long a gang waited after its pods were created.
func (r *replayed) wait(i int) time.Duration { return r.lives[i].bound.Sub(r.lives[i].made) }

// jct returns the time from a job's planned arrival until its last pod had ended.
func (r *replayed) jct(i int) time.Duration { return r.lives[i].ended.Sub(r.began) - r.jobs[i].Submit }

// gapPart is a part of the difference between a job's completion time in the cluster and in the simulator. All parts add up to
// that difference; the parts before the binding of the pods add up to the difference in waiting time.
type gapPart struct {
	what string
	of   func(r *replayed, i int) time.Duration
}

var gapParts = []gapPart{
	{"its pods were made late", (*replayed).late},
	{"it waited longer, as it does in the simulator of jobs as measured", func(r *replayed, i int) time.Duration {
		return r.measured.wait(i) - r.predicted.wait(i)
	}},
	{"it waited longer than there: rounds, requests, starts told in whole seconds, other decisions", func(r *replayed, i int) time.Duration {
		return r.wait(i) - r.measured.wait(i)
	}},
	{"from its last pod bound to its last pod running", func(r *replayed, i int) time.Duration {
		return r.lives[i].running.Sub(r.lives[i].bound)
	}},
	{"from the end of its run time to its last pod succeeded", func(r *replayed, i int) time.Duration {
		return r.lives[i].ended.Sub(r.lives[i].running) - r.jobs[i].Work
	}},
}

// mean returns the mean of a duration over all jobs.
func (r *replayed) mean(of func(i int) time.Duration) time.Duration { return meanOf(len(r.jobs), of) }

// seconds formats a duration on the cluster's clock in seconds of the trace's clock.
func (r *replayed) seconds(d time.Duration) string {
	return fmt.Sprintf("%.0f", d.Seconds()*float64(r.window.speed))
}

// table compares the cluster with the simulator. The simulation of the measured jobs contains neither the late creation of pods,
// which counts as waiting here as in the cluster, nor the reasons why a job took longer.
func (r *replayed) table() string {
	row := func(what string, cluster, predicted, measured time.Duration) []string {
		gap := "0.0 %"
		if predicted > 0 {
			gap = fmt.Sprintf("%+.1f %%", 100*(cluster.Seconds()/predicted.Seconds()-1))
		}
		return []string{what, r.seconds(cluster), r.seconds(predicted), gap, r.seconds(measured)}
	}
	last := r.lastToEnd()
	rows := [][]string{
		{"of the trace's seconds", "cluster", "simulator", "gap", "simulator, of jobs as measured"},
		row("makespan", r.jct(last)+r.jobs[last].Submit, r.predicted.makespan(), r.measured.makespan()),
		row("mean JCT", r.mean(r.jct), r.predicted.meanJCT(),
			r.mean(func(i int) time.Duration { return r.measured.ends[i] - r.jobs[i].Submit })),
		row("mean wait", r.mean(func(i int) time.Duration { return r.late(i) + r.wait(i) }),
			r.mean(r.predicted.wait), r.mean(func(i int) time.Duration { return r.late(i) + r.measured.wait(i) })),
	}
	var b strings.Builder
	table.Text(&b, 1, rows)
	return b.String()
}

// lastToEnd returns the job that ended last in the cluster.
func (r *replayed) lastToEnd() (last int) {
	for i := range r.lives {
		if r.lives[i].ended.After(r.lives[last].ended) {
			last = i
		}
	}
	return last
}

// parts returns a table of the parts of the gaps.
func (r *replayed) parts() string {
	last := r.lastToEnd()
	ended := r.predicted.ends[last]
	jct := r.mean(func(i int) time.Duration { return r.jct(i) - r.predicted.jct(i) })
	rows := [][]string{
		{"what the gaps consist of, the first three that of the wait", "mean JCT", "on the clock", "last job's end"},
		{"all", r.seconds(jct), clock(jct), r.seconds(r.jct(last) + r.jobs[last].Submit - ended)},
	}
	for _, part := range gapParts {
		mean := r.mean(func(i int) time.Duration { return part.of(r, i) })
		rows = append(rows, []string{"  " + part.what, r.seconds(mean), clock(mean), r.seconds(part.of(r, last))})
	}
	var b strings.Builder
	table.Text(&b, 1, rows)
	var quick []time.Duration
	waited := 0
	for i := range r.jobs {
		if r.predicted.wait(i) > 0 {
			waited++
		} else {
			quick = append(quick, r.wait(i))
		}
	}
	fmt.Fprintf(&b, "the last job to end is %s, in the simulator it ends %s s before the last; %d of %d wait in the simulator",
		r.jobs[last].Name, r.seconds(r.predicted.makespan()-ended), waited, len(r.jobs))
	if slices.Sort(quick); len(quick) > 0 {
		fmt.Fprintf(&b, ", the others here, from pods made to pods bound, %s at the median, %s at the 95th percentile",
			clock(quick[len(quick)/2]), clock(quick[len(quick)*95/100]))
	}
	return b.String()
}

// clock formats a duration on the cluster's own clock.
func clock(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

// counts returns the scheduler's counters as text.
func (s *scheduler) counts(t testing.TB) string {
	t.Helper()
	var text []string
	for _, c := range []struct{ what, name string }{
		{"rounds", `clustergym_kube_rounds_total{result="done"}`},
		{"rounds not done in full", `clustergym_kube_rounds_total{result="failed"}`},
		{"decisions by the policy", `clustergym_decisions_total{by="policy"}`},
		{"by its fallback", `clustergym_decisions_total{by="fallback"}`},
		{"gangs bound", `clustergym_kube_bound_total{what="gangs"}`},
		{"pods bound", `clustergym_kube_bound_total{what="pods"}`},
		{"proposals held, as nothing may be stopped", `clustergym_kube_held_total{reason="stops"}`},
	} {
		text = append(text, s.metric(t, c.name)+" "+c.what)
	}
	return strings.Join(text, ", ")
}
