package predict

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// drawJobs draws jobs of few users, sizes, models and groups that overlap in time.
func drawJobs(t *rapid.T) []trace.Job {
	n := rapid.IntRange(1, 40).Draw(t, "jobs")
	jobs := make([]trace.Job, n)
	for i := range jobs {
		jobs[i] = trace.Job{
			JobSpec: cluster.JobSpec{
				Name: fmt.Sprint(i), User: rapid.SampledFrom([]string{"", "u", "v"}).Draw(t, "user"),
				Tenant:  rapid.SampledFrom([]string{"", "a"}).Draw(t, "tenant"),
				Group:   rapid.SampledFrom([]string{"", "", "g", "h"}).Draw(t, "group"),
				Model:   rapid.SampledFrom([]string{"", "gpt2-1.5b"}).Draw(t, "model"),
				Workers: rapid.Int32Range(1, 3).Draw(t, "workers"),
				Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
				Submit:  time.Duration(rapid.Int64Range(0, 100).Draw(t, "submit")) * time.Second,
			},
			Work: time.Duration(rapid.Int64Range(1, 60).Draw(t, "work")) * time.Second,
		}
	}
	return jobs
}

// eager returns settings of a forest predictor that trains early and often, on little data.
func eager() ForestConfig {
	c := DefaultForest()
	c.First, c.Every, c.Window, c.Runs, c.Trials = 5, 4, 20, 4, 1
	c.Forest.Trees, c.Forest.MinLeaf = 3, 1
	return c
}

// all returns predictors of all kinds; the forests are eager.
func all() []Predictor {
	return []Predictor{
		newGranted(), newGroupMean(), newGroupMedian(), NewForest(eager()), newNoisy(newGroupMedian(), .5),
		newNoisy(NewForest(eager()), .1),
	}
}

// recurrent draws a workload in which most jobs are runs of recurring jobs.
func recurrent(t testing.TB, n int) []trace.Job {
	t.Helper()
	w := must.Get(trace.Generate(trace.Default(), n, 1))(t)
	(&trace.Mix{Classes: scenario.DefaultClasses(), Recurring: .7}).Apply(w.Jobs, 1)
	return w.Jobs
}

// answers plays jobs to a predictor and returns its predictions.
func answers(t rapid.TB, jobs []trace.Job, p Predictor, seed uint64) (told []float64, cold []bool) {
	t.Helper()
	told, cold = make([]float64, len(jobs)), make([]bool, len(jobs))
	p.Reset(seed)
	err := inTime(context.Background(), jobs, func(i int32) {
		told[i], cold[i] = p.Predict(&jobs[i].JobSpec)
	}, func(i int32) {
		p.Observe(&jobs[i].JobSpec, trueIterations(&jobs[i]))
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range told {
		if !(n >= 1) || math.IsInf(n, 0) {
			t.Fatalf("%s says %v of job %d, want at least 1", p.Name(), n, i)
		}
	}
	return told, cold
}
