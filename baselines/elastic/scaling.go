package elastic

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// Scaling is how a policy predicts the throughput of a job from its number of workers.
type Scaling string

// The values of Scaling.
const (
	Linear   Scaling = "linear"  // in proportion to the workers
	Profiled Scaling = "profile" // as in the profile of the job's model, on as few servers as possible; linear for an unknown model
)

// throughput predicts the throughput of a job with a number of workers, relative to that with one worker, at a fixed batch size
// per worker. It does not model statistical efficiency, which larger batches lower, because no trace contains it.
type throughput struct {
	family    *profile.Family // nil if linear
	perServer int32
}

func (c Scaling) check() {
	if c != Linear && c != Profiled {
		panic("elastic: no scaling " + string(c))
	}
}

func (c Scaling) of(s *cluster.View, id cluster.JobID) throughput {
	if c == Linear {
		return throughput{}
	}
	return throughput{profile.Lookup(s.Spec(id).Model), max(s.MostGPUs(), 1)}
}

func (t throughput) at(workers int32) float64 {
	if t.family == nil {
		return float64(workers)
	}
	return t.family.Throughput((workers+t.perServer-1)/t.perServer, workers)
}
