package physics

import (
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
)

// InterServer slows a gang that runs on more servers than it needs. On n servers, where m would be enough, the run time grows by
// the factor 1 + Penalty·(1 - m/n), which is at most 1 + Penalty. m is computed for servers as large as the largest in the
// cluster. InterServer is the simplest model of communication between servers; NewNetwork returns the detailed one.
type InterServer struct {
	alone
	Penalty float64
}

// Name implements Part.
func (m InterServer) Name() string { return fmt.Sprintf("inter-server(%g)", m.Penalty) }

// Factor implements Part.
func (m InterServer) Factor(s *cluster.View, job cluster.JobID) float64 {
	p := s.Placement(job)
	if len(p) == 1 {
		return 1
	}
	need := (p.Workers() + s.MostGPUs() - 1) / s.MostGPUs()
	return 1 / (1 + m.Penalty*(1-float64(need)/float64(len(p))))
}
