package predictors

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// TestCompareByHand checks three runs of one recurring job: the first is a cold start, the second is submitted before the first
// ends, the third after both have ended.
func TestCompareByHand(t *testing.T) {
	run := func(name string, submit, work time.Duration) trace.Job {
		spec := cluster.JobSpec{Name: name, User: "u", Workers: 1, Request: cluster.Amount{GPUMilli: 1000}, Submit: submit * time.Second}
		return trace.Job{JobSpec: spec, Work: work * time.Second}
	}
	jobs := []trace.Job{run("third", 100, 20), run("first", 0, 10), run("second", 9, 30)}
	calls := 0
	rows, err := Compare(t.Context(), jobs, named(t, "group-mean", "granted"), 1, func(int) { calls++ })
	if err != nil || len(rows) != 10 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	// Two predictions are 600 s, the third is the mean of 10 and 30 s.
	want := []Accuracy{
		{Predictor: "group-mean", Runs: "all", Jobs: 3, Cold: 2, Relative: 570. / 30, Log: Number((math.Log(60) + math.Log(20)) / 3)},
		{Predictor: "group-mean", Runs: "0", Jobs: 2, Cold: 2, Relative: (590./10 + 570./30) / 2, Log: Number((math.Log(60) + math.Log(20)) / 2)},
		{Predictor: "group-mean", Runs: "1-2", Jobs: 1},
		{Predictor: "group-mean", Runs: "3-9"},
		{Predictor: "group-mean", Runs: "10+"},
	}
	for i, w := range want {
		got := rows[i]
		if got.Jobs == 0 {
			w.Relative, w.Log = Number(math.NaN()), Number(math.NaN())
		}
		near := func(a, b Number) bool {
			return math.Abs(float64(a-b)) < 1e-9 || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
		}
		if got.Predictor != w.Predictor || got.Runs != w.Runs || got.Jobs != w.Jobs || got.Cold != w.Cold ||
			!near(got.Relative, w.Relative) || !near(got.Log, w.Log) {
			t.Errorf("%+v, want %+v", got, w)
		}
	}
	a, b := math.Log(60), math.Log(20)
	mean := (math.Log(10) + math.Log(30)) / 2
	squares := 2 * (math.Log(30) - mean) * (math.Log(30) - mean)
	if r := float64(rows[1].R2); math.Abs(r-(1-(a*a+b*b)/squares)) > 1e-9 {
		t.Errorf("R2 %v, want %v", r, 1-(a*a+b*b)/squares)
	}
	text, err := json.Marshal(rows[3])
	if want := `{"predictor":"group-mean","earlier_runs":"3-9","jobs":0,"cold":0,"median_relative_error":null,` +
		`"mean_abs_log_error":null,"r2_log":null}`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	if jobs[0].Name != "third" {
		t.Error("Compare changed its jobs")
	}
}

// TestCompareOracle checks that with oracle estimates the predictor granted is always right.
func TestCompareOracle(t *testing.T) {
	jobs := recurrent(t, 300)
	if err := (trace.Estimates{Kind: trace.Oracle}).Apply(jobs, nil); err != nil {
		t.Fatal(err)
	}
	rows, err := Compare(t.Context(), jobs, named(t, "granted"), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := rows[0]; r.Relative > 1e-3 || r.Log > 1e-3 || r.R2 < 1-1e-3 || r.Cold != 0 {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compare(ctx, jobs, named(t, "granted"), 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if rows, err := Compare(t.Context(), nil, named(t, "granted"), 1, nil); err != nil || rows[0].Jobs != 0 {
		t.Errorf("no jobs: %v, %v", rows, err)
	}
}

// TestForestBeatsGroups checks that on all jobs together the forest is at least as good as group mean and group median, by each
// measure, on both traces that contain users and on a generated recurrent workload. It logs the tables, which differ for single
// buckets.
func TestForestBeatsGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("plays three workloads")
	}
	read := func(path string, format trace.Format) func(testing.TB) []trace.Job {
		return func(tb testing.TB) []trace.Job {
			w, err := trace.Read(filepath.Join(sharedtest.Dir(tb), "traces", path), trace.Options{Format: format})
			if err != nil {
				tb.Fatal(err)
			}
			return w.Jobs
		}
	}
	for _, c := range []struct {
		name string
		jobs func(testing.TB) []trace.Job
	}{
		{"generated", func(tb testing.TB) []trace.Job { return recurrent(tb, 6000) }},
		{"venus", read("helios-venus-2020-06/helios_data_training.csv.gz", trace.Helios)},
		{"philly", read("philly-2017-allstatus/philly_data_training.csv.gz", trace.PhillyAll)},
	} {
		t.Run(c.name, func(t *testing.T) {
			predictors := named(t, "group-mean", "group-median", "forest")
			rows, err := Compare(t.Context(), c.jobs(t), predictors, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			of := map[string]Accuracy{}
			for _, r := range rows {
				t.Logf("%-12s %-4s %6d jobs, %5d cold: median relative error %.3f, mean log error %.3f, R2 %.3f", r.Predictor, r.Runs,
					r.Jobs, r.Cold, r.Relative, r.Log, r.R2)
				if r.Runs == "all" {
					of[r.Predictor] = r
				}
			}
			ours := of["forest"]
			for _, kind := range []string{"group-mean", "group-median"} {
				if r := of[kind]; ours.Relative > r.Relative || ours.Log > r.Log || ours.R2 < r.R2 {
					t.Errorf("forest %+v, want it no worse than %+v", ours, r)
				}
			}
		})
	}
}

// named returns untrained predictors of the given kinds.
func named(t *testing.T, kinds ...string) (list []predict.Predictor) {
	t.Helper()
	for _, kind := range kinds {
		p, err := predict.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// recurrent draws a workload in which most jobs are runs of recurring jobs.
func recurrent(tb testing.TB, n int) []trace.Job {
	tb.Helper()
	w, err := trace.Generate(trace.Default(), n, 1)
	if err != nil {
		tb.Fatal(err)
	}
	(&trace.Mix{Classes: scenario.DefaultClasses(), Recurring: .7}).Apply(w.Jobs, 1)
	return w.Jobs
}
