// Package elastic schedules jobs whose number of workers may change while they run. A Policy says who runs with how many
// workers; Scheduler carries that out.
package elastic

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Policy decides how many workers every job gets.
type Policy interface {
	Name() string
	// Reset forgets everything but the policy's options; all that it draws follows from the seed.
	Reset(seed uint64)
	// Allocate sets Want of every job, and may reorder jobs: those that are to start are placed in the order in which they then
	// stand. A running job keeps at least Base. What it hands out should fit the cluster's totals; a gang for which no set
	// of servers is found waits for the next epoch, and Allocate is asked again without it and its like.
	//
	// Jobs come in the order of their submission, then id, with Want 0.
	Allocate(s *cluster.View, jobs []Job)
}

// informed is a Policy that cannot do without estimates of durations if NeedsEstimates says so: a job that has none is then
// an error, and Left is above 0 in all that it is given.
type informed interface {
	Policy
	NeedsEstimates() bool
}

// Job is a waiting job, or a running elastic one.
type Job struct {
	ID         cluster.JobID
	Base, Most int32         // workers: its least and its most, equal for a job that is not elastic
	Now        int32         // workers that run, 0 while it waits
	Want       int32         // workers that it gets: 0, to wait, or Base to Most; Allocate sets it
	GPUMilli   int64         // of one worker
	Left       time.Duration // work left by the estimate, in isolated time with Workers workers; 0 if not known
	Workers    int32         // that it asked for
	Loan       bool          // servers on loan are looked at first for it
}
