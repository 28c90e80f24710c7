package physics

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// Throughput returns how many iterations per second all workers of a job complete together where its speed under the model is 1.
// The job's throughput under any placement is its speed times this number. Each worker counts its own iterations, of the batch
// that belongs to the job's model. This is what a cluster can measure. Jobs that train the same model have equal throughputs in
// equal placements, whatever they asked for, except for Jitter and for different smallest gangs under Diminishing. The number
// does not depend on the job's run time.
//
// A worker of a known model completes 1/ComputeSeconds iterations per second on a V100 (see profile.Family), where neither few
// cores, little memory, nor other workers slow it down. A worker of an unknown model completes 0.1 to 10, log-uniform and drawn
// from the model's name, or from the job's name if it has no model.
func Throughput(m Model, s *cluster.View, job cluster.JobID) float64 {
	spec := s.Spec(job)
	f := profile.Lookup(spec.Trains())
	p, _ := m.(product)
	total := spec.GPUs()
	if p.sliced {
		total = float64(spec.Workers)
	}
	if f == nil {
		total *= unknownRate(spec)
	} else {
		total /= f.ComputeSeconds()
	}
	for _, part := range p.parts {
		switch part := part.(type) {
		case Diminishing:
			total *= part.of(spec.Least(), spec.Workers)
		case Scaling:
			if f != nil {
				total *= perWorker(f, s.MostGPUs(), spec.Workers)
			}
		case CPUMem:
			if f != nil && spec.Request.CPUMilli > 0 && spec.Request.MemMiB > 0 {
				total *= f.CPUMem(cores(spec.Request), gib(spec.Request))
			}
		}
	}
	return total
}

// unknownRate returns how many iterations per second a worker of unknown model completes.
func unknownRate(spec *cluster.JobSpec) float64 {
	name := spec.Trains()
	if name == "" {
		name = spec.Name
	}
	u := float64(scramble(fold(fnvBasis, name)*fnvPrime)>>11) / (1 << 53)
	return math.Pow(10, 2*u-1)
}
