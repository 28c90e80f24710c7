package trace

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Job is one job of a workload: the specification that a scheduler may see, and the true outcome that only the simulator may see.
type Job struct {
	cluster.JobSpec
	Work   time.Duration `log:"work,0..maxTime"` // isolated run time with what the job asked for; schedulers must not see it
	Status Status        `log:"status,status"`   // how the job ended in the trace; schedulers must not see it
	Dealt  bool          // a Mix chose Group, by the GPU-hours that the job takes; the trace has none
}

// Status is how a job ended in its trace.
type Status uint8

// The ways a job can end. Unknown is used for traces without a status column.
const (
	Unknown Status = iota
	Passed
	Failed
	Killed
)
