package physics

import (
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// Scaling is the speed of an elastic job that has more or fewer workers than it asked for. It follows the measured scaling of the
// job's model under a good placement (Pollux, OSDI 2021, §3.2, with a fixed batch per worker). The ideal model assumes a speed
// proportional to the number of workers; the factor corrects that. A job of unknown model scales linearly.
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
	f := profile.Lookup(spec.Trains())
	if f == nil {
		return 1
	}
	return perWorker(f, s.MostGPUs(), have) / perWorker(f, s.MostGPUs(), spec.Workers)
}

// perWorker returns the throughput per worker of a gang on the fewest servers that can hold it.
func perWorker(f *profile.Family, perServer, workers int32) float64 {
	return f.Throughput((workers+perServer-1)/perServer, workers) / float64(workers)
}

// Diminishing is the imperfect scaling of Lyra (EuroSys 2023, §7.2): the speed of the smallest gang is proportional to its
// workers, and every worker beyond it adds only Gain times as much. The factor corrects the ideal model, in which the speed is
// proportional to the number of workers, and is 1 for the gang that the job asked for.
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

// of returns the speed of n workers divided by n.
func (m Diminishing) of(least, n int32) float64 {
	return (float64(least) + m.Gain*float64(n-least)) / float64(n)
}
