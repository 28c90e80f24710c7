package predict

import (
	"context"
	"time"

	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
)

// Teach resets a predictor with the seed and trains it on jobs in order of time. It calls Predict when a job is submitted and
// Observe when it ends, at submit + work, as if no job ever waited. If a job ends when another is submitted, Observe comes
// first. The predictor gets pointers into jobs, not copies. Teach calls done, if not nil, from time to time with the number of
// predictions.
func Teach(ctx context.Context, jobs []trace.Job, p Predictor, seed uint64, done func(n int)) error {
	p.Reset(seed)
	n := 0
	return inTime(ctx, jobs, func(i int32) {
		p.Predict(&jobs[i].JobSpec)
		if n++; n%1000 == 0 && done != nil {
			done(n)
		}
	}, func(i int32) {
		p.Observe(&jobs[i].JobSpec, trueIterations(&jobs[i]))
	})
}

// trueIterations returns the number of iterations that corresponds to a job's isolated run time, at least 1.
func trueIterations(j *trace.Job) float64 {
	return max(1, j.Work.Seconds()/physics.IterationSeconds(&j.JobSpec))
}

// inTime calls submitted and ended in order of time; at the same instant, ends come first. Ends after the last submission come
// last.
func inTime(ctx context.Context, jobs []trace.Job, submitted, ended func(i int32)) error {
	end := func(i int32) time.Duration { return jobs[i].Submit + jobs[i].Work }
	w := trace.Workload{Jobs: jobs}
	ends := w.Ends()
	for _, i := range w.Arrivals() {
		for end(ends[0]) <= jobs[i].Submit {
			ended(ends[0])
			ends = ends[1:]
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		submitted(i)
	}
	for _, i := range ends {
		ended(i)
	}
	return nil
}
