package physics

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/comm"
)

// The cluster that IterationSeconds takes the time on: the links of the built-in scenarios, and servers of 8 GPUs. Another
// cluster would scale the iterations of one kind of job alike, and so times that are predicted by them not at all.
const (
	intraGBs      = 12.5 // of each GPU to the others of its server
	nicGBs        = 1.25 // of each server
	gpusPerServer = 8
)

// IterationSeconds returns the seconds that one iteration of a job with its Workers takes placed best (α_min of A-SRPT, as
// comm.Best has it), by its Model, Stages and Tensor; 1 where the model is not known or no such gang can be, so
// that iterations are then seconds of isolated run time. A job's iterations are its isolated run time over this, whatever the
// cluster. It takes about a microsecond and remembers nothing: it is safe for concurrent use.
func IterationSeconds(spec *cluster.JobSpec) float64 {
	job, ok := Communication(spec.Model, spec.Workers, spec.Stages, spec.Tensor)
	if !ok {
		return 1
	}
	links := comm.Links{Intra: intraGBs * 1e9, NIC: nicGBs * 1e9}
	best, err := comm.Best(job, max(gpusPerServer, spec.Together()), links)
	if err != nil { // no cluster could serve such a job
		return 1
	}
	return best
}
