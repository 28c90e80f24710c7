package physics

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/comm"
)

// The cluster for which IterationSeconds computes times: the links of the built-in scenarios, and servers of 8 GPUs. With another
// cluster, the iteration times of one kind of job would all change by the same factor, so run times predicted from iterations
// would stay the same.
const (
	intraGBs      = 12.5 // of each GPU to the other GPUs of its server
	nicGBs        = 1.25 // of each server
	gpusPerServer = 8
)

// IterationSeconds returns how many seconds one iteration of a job takes with its Workers under the best placement (α_min of
// A-SRPT, see comm.Best), given its Model, Stages and Tensor. It returns 1 if the model is unknown or such a gang is impossible;
// iterations are then seconds of isolated run time. A job's number of iterations is its isolated run time divided by this value,
// on any cluster. A call takes about a microsecond, caches nothing and is safe for concurrent use.
func IterationSeconds(spec *cluster.JobSpec) float64 {
	job, ok := Communication(spec.Model, spec.Workers, spec.Stages, spec.Tensor)
	if !ok {
		return 1
	}
	links := comm.Links{Intra: intraGBs * 1e9, NIC: nicGBs * 1e9}
	best, err := comm.Best(job, max(gpusPerServer, spec.Together()), links)
	if err != nil { // no cluster could run such a job
		return 1
	}
	return best
}
