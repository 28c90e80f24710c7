package pollux

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// throughput predicts the throughput of a job with a number of workers, relative to that with one worker, at a fixed batch size
// per worker. It does not model statistical efficiency, which larger batches lower, because no trace contains it.
type throughput struct {
	family    *profile.Family // nil for an unknown model
	perServer int32
}

// throughputOf returns what the profile of the job's model predicts, on as few servers as possible. For an unknown model it is in
// proportion to the workers. Own choice: the published Pollux fits it to the running job.
func throughputOf(s *cluster.View, id cluster.JobID) throughput {
	return throughput{profile.Lookup(s.Spec(id).Model), max(s.MostGPUs(), 1)}
}

func (t throughput) at(workers int32) float64 {
	if t.family == nil {
		return float64(workers)
	}
	return t.family.Throughput((workers+t.perServer-1)/t.perServer, workers)
}
