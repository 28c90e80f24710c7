package physics

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// Sharing is the slowdown of jobs that share GPUs by time-slicing, as Gavel measured it (OSDI 2020). A share of a GPU admits a
// job to the GPU but does not limit its speed: a job alone on its GPUs runs at full speed whatever its share. Together with
// others its speed is exp(-Strength · sensitivity · Σ pressures of the others). Strength 1 is what Gavel measured on the K80,
// P100 and V100; newer GPUs show about 0.3 (studies/physics-fit.md). The slowest worker determines the speed of a gang. A job of
// unknown model neither slows others nor is slowed.
type Sharing struct {
	Strength float64
}

// Name implements Part.
func (m Sharing) Name() string { return fmt.Sprintf("sharing(%g)", m.Strength) }

// Factor implements Part.
func (m Sharing) Factor(s *cluster.View, job cluster.JobID) float64 {
	var own *profile.Family
	least := 1.0
	for _, q := range s.Placement(job) {
		if q.GPUMilli == cluster.WholeGPU || s.Shared(q.Server) == 0 {
			continue
		}
		if own == nil {
			if own = profile.Lookup(s.Spec(job).Trains()); own == nil {
				return 1
			}
		}
		gpuType := s.Server(q.Server).GPUType
		sensitivity, _ := own.Vectors(gpuType)
		use := s.GPUUse(q.Server)
		met := cluster.JobID(-1) // the job whose pressure is pressing: most gangs share their GPUs with another gang
		var pressing, last [2]float64
		for _, g := range s.GPUsOn(job, q.Server) {
			if int32(use[g]) == q.GPUMilli {
				continue // no other job uses it
			}
			var pressure [2]float64
			for _, other := range s.Residents(q.Server) {
				if other == job || !slices.Contains(s.GPUsOn(other, q.Server), g) {
					continue
				}
				if other != met {
					met, pressing = other, [2]float64{}
					if f := profile.Lookup(s.Spec(other).Trains()); f != nil {
						_, pressing = f.Vectors(gpuType)
					}
				}
				pressure[0], pressure[1] = pressure[0]+pressing[0], pressure[1]+pressing[1]
			}
			if pressure != ([2]float64{}) && pressure != last {
				last = pressure
				least = min(least, profile.Beside(m.Strength, sensitivity, pressure))
			}
		}
	}
	return least
}

// Coupled implements Part. It adds the jobs with shares of GPUs on the servers where the placement holds shares.
func (m Sharing) Coupled(s *cluster.View, p cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return s.Sharers(p, dst)
}

// affected implements precise. It adds the jobs on the same GPUs.
func (m Sharing) affected(s *cluster.View, job cluster.JobID, dst []cluster.JobID) []cluster.JobID {
	return s.Partners(job, dst)
}
