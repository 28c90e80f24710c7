// Package predict predicts how many iterations a job will take from similar jobs that have ended.
//
// # Source
//
// A-SRPT (Luo, Liu, Lee, Shroff, IEEE INFOCOM 2025, arXiv:2501.05563) predicts the training iterations of recurring jobs by
// random-forest regression. Its abstract says so; the rest of the paper could not be read. Everything else here, including every
// parameter and the prediction of a cold start, is our choice.
//
// # Recurring jobs
//
// Two jobs are runs of one recurring job if they have the same Group. Without a Group, they must have the same User (or Tenant
// if the user is unknown), Workers, Request, Model, Stages and Tensor. The public traces have no groups.
//
// # Cold starts
//
// A job is a cold start if no run of its recurring job has ended. Its predicted run time is the median of the latest jobs with
// the same number of GPUs if at least five have ended, otherwise of all jobs, and firstGuess before any job has ended. The
// forest predicts cold starts like other jobs, from the other features, but still reports them as cold.
package predict

import (
	"github.com/clustergym/clustergym/env/cluster"
)

// Predictor predicts the iterations of jobs. Call Predict for a job before Observe. All methods are deterministic. Not safe for
// concurrent use.
type Predictor interface {
	Name() string
	// Reset restores the state after creation or loading. All random choices follow from the seed.
	Reset(seed uint64)
	// Predict returns at least 1. cold reports that no run of the job's recurring job has ended.
	Predict(spec *cluster.JobSpec) (iterations float64, cold bool)
	// Observe learns from a job that has ended.
	Observe(spec *cluster.JobSpec, iterations float64)
}
