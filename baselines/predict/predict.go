// Package predict foresees how many iterations a job will take from the jobs like it that have ended.
//
// # Source
//
// A-SRPT (Luo, Liu, Lee, Shroff, IEEE INFOCOM 2025, arXiv:2501.05563) predicts the training iterations of recurring jobs by
// random-forest regression. That is from its abstract; the rest of the paper could not be read, and everything beyond it
// here, every parameter and the answer to a cold start among them, is a choice of this package.
//
// # Recurring jobs
//
// Two jobs are runs of one recurring job if they have the same Group, or, without one, the same User (Tenant, where no user
// is known), Workers, Request, Model, Stages and Tensor. The public traces name no groups.
//
// # Cold starts
//
// A job of which no run has ended is a cold start. It is taken to run as long as the median of the latest jobs of as many
// GPUs, if at least five have ended, else of all; before any has, firstGuess. Forest answers cold starts like other jobs,
// by what else it knows of them, and counts them as cold all the same.
package predict

import (
	"github.com/clustergym/clustergym/env/cluster"
)

// Predictor predicts iterations of jobs. Ask it about a job before it observes the job. All methods are deterministic; not
// safe for concurrent use.
type Predictor interface {
	Name() string
	// Reset goes back to what the predictor was when it was made or loaded; all that it draws follows from the seed.
	Reset(seed uint64)
	// Predict returns at least 1. cold says that nothing like the job was seen, so that the answer is that of a typical job.
	Predict(spec *cluster.JobSpec) (iterations float64, cold bool)
	// Observe learns from a job that has ended.
	Observe(spec *cluster.JobSpec, iterations float64)
}
