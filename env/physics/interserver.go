package physics

import (
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
)

// InterServer slows a gang that runs on more servers than it needs: with n servers where m would do, time stretches by
// 1 + Penalty·(1 - m/n), so by at most 1 + Penalty. m counts servers as large as the cluster's largest. It is the simplest
// stand-in for communication that leaves the server; NewNetwork makes the detailed one.
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
