package elastic

import (
	"github.com/clustergym/clustergym/env/cluster"
)

// gpuTypes are the types of a cluster's GPUs, by their place in cluster.View.Types, and the orders in which jobs try them:
// those of the training pool first, or those of the inference pool first, and else as they come among the servers.
type gpuTypes struct {
	of       []int8 // by server
	training []int8 // training servers first
	loan     []int8 // inference servers first
}

func newGPUTypes(s *cluster.View) gpuTypes {
	t := gpuTypes{of: make([]int8, s.Servers())}
	var pools [2]uint16 // the types in each
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

// oneType takes all GPUs for one type.
func oneType(s *cluster.View) gpuTypes {
	return gpuTypes{of: make([]int8, s.Servers()), training: []int8{0}, loan: []int8{0}}
}

func (t *gpuTypes) count() int { return len(t.training) }

// allowed returns the bits of the types that will do for a job.
func (t *gpuTypes) allowed(s *cluster.View, id cluster.JobID) uint16 {
	if t.count() == 1 {
		return 1
	}
	return s.TypesFor(id)
}

// mixes reports whether the job may hold GPUs of several types at once: it is heterogeneous, in Lyra's words.
func (t *gpuTypes) mixes(spec *cluster.JobSpec) bool { return spec.Mixed && t.count() > 1 }
