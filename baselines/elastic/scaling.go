package elastic

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// Scaling says how a policy takes the throughput of a job to grow with its workers.
type Scaling string

// The scalings.
const (
	Linear   Scaling = "linear"  // in proportion to the workers
	Profiled Scaling = "profile" // as the model's profile says, on as few servers as hold them; linear for an unknown model
)

// throughput is that of a job by its number of workers, at a fixed batch a worker, relative to 1 for one worker. Statistical
// efficiency, which larger batches lower, is not modelled: no trace carries it.
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
