package predict

import (
	"context"
	"fmt"

	"github.com/clustergym/clustergym/env/trace"
)

// mostFitted is the largest number of jobs that Fit trains on. Training on so many takes about a quarter of a minute.
const mostFitted = 50_000

// Fit trains a random forest with default settings on jobs, as Teach does, or on the latest 50,000 of them. It returns a function
// that returns fresh predictors; each of them, and each Reset of one, starts with what Fit learned. The function is safe for
// concurrent use. Equal jobs and seeds give equal predictors. Fit returns an error if the jobs are too few to train a forest, or
// if ctx ends. It calls done, if not nil, from time to time and at the end, with the number of jobs done and of all.
func Fit(ctx context.Context, jobs []trace.Job, seed uint64, done func(n, of int)) (fresh func() Predictor, err error) {
	jobs = latest(jobs, mostFitted)
	c := DefaultForest()
	taught := NewForest(c).(*forestPredictor)
	tell := func(n int) {
		if done != nil {
			done(n, len(jobs))
		}
	}
	if err := Teach(ctx, jobs, taught, seed, tell); err != nil {
		return nil, err
	}
	tell(len(jobs))
	if taught.forest == nil {
		return nil, fmt.Errorf("fit a random forest on %d jobs: want at least %d", len(jobs), c.First)
	}
	return func() Predictor {
		f := &forestPredictor{config: c, loaded: &taught.forestState}
		f.Reset(0)
		return f
	}, nil
}

// latest returns at most so many of the jobs, those that were submitted last.
func latest(jobs []trace.Job, most int) []trace.Job {
	if len(jobs) <= most {
		return jobs
	}
	var some []trace.Job
	for _, i := range (trace.Workload{Jobs: jobs}).Arrivals()[len(jobs)-most:] {
		some = append(some, jobs[i])
	}
	return some
}
