package objectives

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// leastKnown is how long a job of which nothing is known still runs at least.
const leastKnown = 10 * time.Minute

// Left returns how long a job is believed to run on, at its speed if it runs: at least a second. A job of which nothing is known
// counts as having half of its work behind it.
func Left(v *cluster.View, id cluster.JobID) time.Duration {
	switch {
	case !v.Knows(id):
		return max(v.Age(id), leastKnown)
	case v.Phase(id) == cluster.Running:
		return max(v.ExpectedFinish(id)-v.Now(), time.Second)
	}
	d, _ := v.Remaining(id)
	return max(d, time.Second)
}

// Believed returns how long a job is believed to run in all.
func Believed(v *cluster.View, id cluster.JobID) time.Duration { return v.Progress(id) + Left(v, id) }
