// Package elastic schedules elastic jobs, whose number of workers may change while they run. A Policy decides which jobs run
// with how many workers; the scheduler of New carries the decisions out. The base of a job is the least number of workers with
// which it can run; workers beyond the base are flexible.
package elastic

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Policy decides how many workers every job gets.
type Policy interface {
	Name() string
	// Reset restores the state after creation; the options stay. All random choices follow from the seed.
	Reset(seed uint64)
	// Allocate sets Want of every job. It may reorder the jobs: the scheduler places those that start in the new order. A running
	// job keeps at least Base. The sum should fit the cluster's totals. A gang for which the scheduler finds no servers waits for
	// the next epoch; the scheduler then calls Allocate again without this gang and without others of its kind.
	//
	// Jobs come in the order of their submission, then id, with Want 0.
	Allocate(s *cluster.View, jobs []Job)
}

// informed is a Policy that may need estimates of durations. If NeedsEstimates returns true, the scheduler returns an error for
// a job without an estimate, so that Left is above 0 in all jobs that the policy gets.
type informed interface {
	Policy
	NeedsEstimates() bool
}

// Job is a waiting job, or a running elastic one.
type Job struct {
	ID         cluster.JobID
	Base, Most int32         // least and most workers; equal for a job that is not elastic
	Now        int32         // workers that run; 0 while the job waits
	Want       int32         // workers that it is to get: 0 to wait, or Base to Most; Allocate sets it
	GPUMilli   int64         // of one worker
	Left       time.Duration // work left by the estimate, as run time alone with Workers workers; 0 if unknown
	Workers    int32         // number of workers that it asked for
	Loan       bool          // the scheduler tries servers on loan first
}
