package elastic

import (
	"github.com/clustergym/clustergym/env/cluster"
)

// gpuTypes are the GPU types of a cluster, by their index in cluster.View.Types, and the orders in which jobs try them. The
// types of the training pool, or those of the inference pool, come first; within these, types are in the order of the servers.
type gpuTypes struct {
	of       []int8 // by server
	training []int8 // training servers first
	loan     []int8 // inference servers first
}

func newGPUTypes(s *cluster.View) gpuTypes {
	t := gpuTypes{of: make([]int8, s.Servers())}
	var pools [2]uint16 // bit sets of the types in each pool
	for i := range t.of {
		id := cluster.ServerID(i)
		t.of[i] = int8(s.TypeOf(id))
		pools[s.Server(id).Pool] |= 1 << t.of[i]
	}
	first := func(pool uint16) (order []int8) {
		for _, in := range [...]bool{true, false} {
			for n := range s.Types() {
				if pool>>n&1 == 1 == in {
					order = append(order, int8(n))
				}
			}
		}
		return order
	}
	t.training, t.loan = first(pools[cluster.Training]), first(pools[cluster.Inference])
	return t
}

func (t *gpuTypes) count() int { return len(t.training) }

// allowed returns the bit set of the types that a job can run on.
func (t *gpuTypes) allowed(s *cluster.View, id cluster.JobID) uint16 {
	if t.count() == 1 {
		return 1
	}
	return s.TypesFor(id)
}

// mixes reports whether the job may hold GPUs of several types at once; Lyra calls such a job heterogeneous.
func (t *gpuTypes) mixes(spec *cluster.JobSpec) bool { return spec.Mixed && t.count() > 1 }
