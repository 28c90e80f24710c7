package trace

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Job is one submission of a workload: what a scheduler may know of it, and the truth that only the simulator may know.
type Job struct {
	cluster.JobSpec
	Work   time.Duration // isolated run time as requested: oracle knowledge
	Status Status        // how it ended in the trace: oracle knowledge
}

// Status is how a job ended in its trace.
type Status uint8

// The ends of a job. Unknown is what a trace without a status column gives.
const (
	Unknown Status = iota
	Passed
	Failed
	Killed
)
