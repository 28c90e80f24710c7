package candidates

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// reservation holds servers for a gang that does not fit yet. The zero value holds none.
type reservation struct {
	gang  cluster.JobID
	block []bool        // by server, nil without a reservation
	free  time.Duration // when the block is expected to be free
	until time.Duration // when the reservation ends at the latest
	// servers bounds those that the gang may be scattered over, 0 for any number: it waits for these although it fits.
	servers int
}

// obstructs reports whether a start would keep the gang from its block.
func (r *reservation) obstructs(s *cluster.State, st *start) bool {
	if st.job == r.gang || !slices.ContainsFunc(st.at, func(p cluster.Piece) bool { return r.block[p.Server] }) {
		return false
	}
	spec := s.Spec(st.job)
	return spec.Estimate == 0 || s.Phase(st.job) != cluster.Running || s.ExpectedFinish(st.job) > r.free
}

// scatters reports whether a start is the gang's, on more servers than the reservation allows.
func (r *reservation) scatters(st *start) bool {
	return st.job == r.gang && r.servers > 0 && len(st.at) > r.servers
}

// fewest is the least number of servers that a start may need.
func fewest(s *cluster.State, st *start) int {
	most := s.MostGPUs()
	return int((st.at.Workers() + most - 1) / most)
}

const never = time.Duration(math.MaxInt64)

// frees appends when each GPU of a server is expected to be free, ascending; never for one that is out of order or held by a job
// without an estimate.
func frees(s *cluster.State, id cluster.ServerID, dst []time.Duration) []time.Duration {
	for g := range s.Server(id).GPUs {
		at := s.Now()
		if s.Failed(id, g) {
			at = never
		}
		dst = append(dst, at)
	}
	for _, job := range s.Residents(id) {
		at := never
		if s.Spec(job).Estimate > 0 {
			at = max(s.ExpectedFinish(job), s.Now())
		}
		for _, g := range s.GPUsOn(job, id) {
			dst[g] = max(dst[g], at)
		}
	}
	slices.Sort(dst)
	return dst
}
