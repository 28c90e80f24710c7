package predict

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
)

// Teach resets a predictor with the seed and plays jobs to it in order of time: it asks about each job when the job is
// submitted, and tells of each job when the job ends, at submit + work, as if none ever queued. A job that ends at the instant
// of a submission ends first. The specs that the predictor gets are those in jobs, not copies. done, if not nil, is told now
// and then how many questions were asked.
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

// trueIterations is the iterations of a job by its isolated run time, at least 1.
func trueIterations(j *trace.Job) float64 {
	return max(1, j.Work.Seconds()/physics.IterationSeconds(&j.JobSpec))
}

// inTime goes through submissions and ends in order of time, an end before a submission at the same instant. Ends after the
// last submission come last.
func inTime(ctx context.Context, jobs []trace.Job, submitted, ended func(i int32)) error {
	end := func(i int32) time.Duration { return jobs[i].Submit + jobs[i].Work }
	ends := make([]int32, len(jobs))
	for i := range ends {
		ends[i] = int32(i)
	}
	slices.SortStableFunc(ends, func(a, b int32) int { return cmp.Compare(end(a), end(b)) })
	for _, i := range (trace.Workload{Jobs: jobs}).Arrivals() {
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
