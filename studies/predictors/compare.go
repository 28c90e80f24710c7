// Package predictors compares predictors of how many iterations jobs take.
package predictors

import (
	"context"
	"encoding/json"
	"math"

	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/stats"
)

// bucket is the jobs of which from to to runs of their recurring job had ended when they were submitted.
type bucket struct {
	name     string
	from, to int
}

// buckets are the rows of a comparison.
func buckets() []bucket {
	return []bucket{{"all", 0, math.MaxInt}, {"0", 0, 0}, {"1-2", 1, 2}, {"3-9", 3, 9}, {"10+", 10, math.MaxInt}}
}

// EarlierRuns lists the values of Accuracy.Runs in the order of a comparison's rows.
func EarlierRuns() []string {
	var names []string
	for _, b := range buckets() {
		names = append(names, b.name)
	}
	return names
}

// Accuracy is how well a predictor foresaw some jobs.
type Accuracy struct {
	Predictor string `json:"predictor"`
	// Runs is how many runs of their recurring job had ended before: "0" for cold starts, "1-2", "3-9", "10+", or "all".
	Runs string `json:"earlier_runs"`
	Jobs int    `json:"jobs"`
	Cold int    `json:"cold"` // that the predictor itself answered as cold starts
	// Relative is the median of |predicted - true| / true, Log the mean of |ln predicted - ln true|, and R2 the share of the
	// variance of ln true among these jobs that is explained: below 0 it is worse than their mean. NaN, null in JSON, without
	// jobs or variance.
	Relative Number `json:"median_relative_error"`
	Log      Number `json:"mean_abs_log_error"`
	R2       Number `json:"r2_log"`
}

// Number is a float64 whose NaN is null in JSON.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Compare asks predictors for the iterations of jobs in order of submission, when they have observed the jobs that had
// ended by then and no others: jobs end as if none ever queued, at submit + work. It resets the predictors with the seed,
// and leaves them with all jobs observed. There are five rows for each predictor: all jobs, and those by Accuracy.Runs.
// done, if not nil, is told now and then how many predictions were made.
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

// measure fills in the errors.
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
