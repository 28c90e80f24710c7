// Package predictors compares predictors of the number of iterations of jobs.
package predictors

import (
	"context"
	"encoding/json"
	"math"

	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/stats"
)

// bucket is a set of jobs: those for which between from and to runs of their recurring job had ended when they were submitted.
type bucket struct {
	name     string
	from, to int
}

// buckets returns the rows of a comparison.
func buckets() []bucket {
	return []bucket{{"all", 0, math.MaxInt}, {"0", 0, 0}, {"1-2", 1, 2}, {"3-9", 3, 9}, {"10+", 10, math.MaxInt}}
}

// EarlierRuns returns the values of Accuracy.Runs in the order of a comparison's rows.
func EarlierRuns() []string {
	var names []string
	for _, b := range buckets() {
		names = append(names, b.name)
	}
	return names
}

// Accuracy is the accuracy of a predictor on some jobs.
type Accuracy struct {
	Predictor string `json:"predictor"`
	// Runs is the number of runs of their recurring job that had ended before: "0" for cold starts, "1-2", "3-9", "10+", or "all".
	Runs string `json:"earlier_runs"`
	Jobs int    `json:"jobs"`
	Cold int    `json:"cold"` // number of jobs that the predictor itself reported as cold starts
	// Relative is the median of |predicted - true| / true, Log the mean of |ln predicted - ln true|, and R2 the fraction of the
	// variance of ln true among these jobs that the predictor explains; below 0 it is worse than their mean. Each is NaN, null in
	// JSON, if there are no jobs or no variance.
	Relative Number `json:"median_relative_error"`
	Log      Number `json:"mean_abs_log_error"`
	R2       Number `json:"r2_log"`
}

// Number is a float64 that JSON shows as null if it is NaN.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Compare lets predictors predict the iterations of jobs in order of submission. At each prediction they have observed exactly
// the jobs that had ended by then, if every job ends at submit + work, as if no job ever waited. Compare resets the predictors
// with the seed, and leaves them with all jobs observed. It returns five rows for each predictor: all jobs, and the jobs by
// Accuracy.Runs. It calls done, if not nil, from time to time with the number of predictions so far.
func Compare(
	ctx context.Context, jobs []trace.Job, list []predict.Predictor, seed uint64, done func(n int),
) ([]Accuracy, error) {
	var rows []Accuracy
	for k, p := range list {
		r := newRecorder(p, jobs)
		err := predict.Teach(ctx, jobs, r, seed, func(n int) {
			if done != nil {
				done(k*len(jobs) + n)
			}
		})
		if err != nil {
			return nil, err
		}
		for _, b := range buckets() {
			row := Accuracy{Predictor: p.Name(), Runs: b.name}
			var truths, guesses []float64
			for _, a := range r.answers {
				if a.earlier < b.from || a.earlier > b.to {
					continue
				}
				truths, guesses = append(truths, a.truth), append(guesses, a.told)
				if a.cold {
					row.Cold++
				}
			}
			row.measure(truths, guesses)
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// measure computes the errors.
func (a *Accuracy) measure(truths, guesses []float64) {
	a.Jobs = len(truths)
	var relative, logs, off []float64
	unexplained := 0.0
	for i, y := range truths {
		e := math.Log(guesses[i] / y)
		relative = append(relative, math.Abs(guesses[i]-y)/y)
		off = append(off, math.Abs(e))
		logs = append(logs, math.Log(y))
		unexplained += e * e
	}
	mean, squares := stats.Mean(logs), 0.0
	for _, y := range logs {
		squares += (y - mean) * (y - mean)
	}
	a.Relative, a.Log = Number(stats.Quantile(relative, .5)), Number(stats.Mean(off))
	a.R2 = Number(math.NaN())
	if squares > 0 {
		a.R2 = Number(1 - unexplained/squares)
	}
}
