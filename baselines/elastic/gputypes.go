package elastic

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// gpuTypes are the types of a cluster's GPUs and the orders in which jobs try them: those of the training pool first, or
// those of the inference pool first, and else as they come among the servers.
type gpuTypes struct {
	names    []string
	of       []int8 // by server
	training []int8 // training servers first
	loan     []int8 // inference servers first
	masks    []typeMask
}

type typeMask struct {
	text  string // JobSpec.GPUType
	types uint16
}

func newGPUTypes(s *cluster.State) gpuTypes {
	t := gpuTypes{of: make([]int8, s.Servers())}
	var pools [2]uint16 // the types in each
	for i := range t.of {
		v := s.Server(cluster.ServerID(i))
		n := slices.Index(t.names, v.GPUType)
		if n < 0 {
			n = len(t.names)
			t.names = append(t.names, v.GPUType)
		}
		t.of[i] = int8(n)
		pools[v.Pool] |= 1 << n
	}
	first := func(pool uint16) (order []int8) {
		for _, in := range [...]bool{true, false} {
			for n := range t.names {
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

// allowed returns the bits of the types that will do for a job.
func (t *gpuTypes) allowed(spec *cluster.JobSpec) uint16 {
	if len(t.names) == 1 || spec.GPUType == "" {
		return 1<<len(t.names) - 1
	}
	for i := range t.masks {
		if t.masks[i].text == spec.GPUType {
			return t.masks[i].types
		}
	}
	m := typeMask{text: spec.GPUType}
	for n, name := range t.names {
		if spec.Allows(name) {
			m.types |= 1 << n
		}
	}
	t.masks = append(t.masks, m)
	return m.types
}

// mixes reports whether the job may hold GPUs of several types at once: it is heterogeneous, in Lyra's words.
func (t *gpuTypes) mixes(spec *cluster.JobSpec) bool { return spec.Mixed && len(t.names) > 1 }
