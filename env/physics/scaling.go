package physics

import (
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// Scaling runs an elastic job that has more or fewer workers than it asked for as fast as its model scales, well placed
// (Pollux, OSDI 2021, §3.2, at a fixed batch a worker). It corrects the proportional share of the ideal model. A job of
// unknown model scales linearly.
type Scaling struct{ alone }

// Name implements Part.
func (Scaling) Name() string { return "scaling" }

// Factor implements Part.
func (Scaling) Factor(s *cluster.View, job cluster.JobID) float64 {
	spec := s.Spec(job)
	have := s.Placement(job).Workers()
	if have == spec.Workers {
		return 1
	}
	f := profile.Lookup(spec.Model)
	if f == nil {
		return 1
	}
	return perWorker(f, s.MostGPUs(), have) / perWorker(f, s.MostGPUs(), spec.Workers)
}

// perWorker is the throughput of a worker of a gang on as few servers as hold it.
func perWorker(f *profile.Family, perServer, workers int32) float64 {
	return f.Throughput((workers+perServer-1)/perServer, workers) / float64(workers)
}

// Diminishing is the imperfect scaling of Lyra (EuroSys 2023, §7.2): the smallest gang runs in proportion to its workers, and
// every worker beyond brings only Gain of one. It corrects the proportional share of the ideal model, relative to the gang
// that was asked for.
type Diminishing struct {
	alone
	Gain float64
}

// Name implements Part.
func (m Diminishing) Name() string { return fmt.Sprintf("diminishing(%g)", m.Gain) }

// Factor implements Part.
func (m Diminishing) Factor(s *cluster.View, job cluster.JobID) float64 {
	spec := s.Spec(job)
	have := s.Placement(job).Workers()
	if have == spec.Workers {
		return 1
	}
	return m.of(spec.Least(), have) / m.of(spec.Least(), spec.Workers)
}

// of is the speed of n workers in proportion to them.
func (m Diminishing) of(least, n int32) float64 {
	return (float64(least) + m.Gain*float64(n-least)) / float64(n)
}
