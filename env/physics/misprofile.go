package physics

import (
	"cmp"
	"math"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// Misprofile describes how wrong the profiles are that schedulers see. The reported speed of a job is multiplied by a factor from
// 1/(1+Within) to 1+Within, log-uniform and drawn from Seed. The factor is fixed for each model and kind of configuration. True
// speeds are not affected. The zero value makes no error.
//
// The kind of configuration consists of: the GPU type (an empty type counts as the V100); whether the job is on more servers than
// it needs; whether it has fewer or more workers, or less or more CPU or memory, than it asked for; and whether it shares a GPU
// with another job. All jobs of a model get the same factors, so a scheduler cannot average the error out. For a model without a
// profile the factor is 1.
type Misprofile struct {
	Within float64
	Seed   uint64
}

// Profiled returns the model whose speeds schedulers see: physics.Profiled of m, multiplied by the factors.
func (e Misprofile) Profiled(m Model) Model {
	known := Profiled(m)
	if e.Within == 0 {
		return known
	}
	return misprofiled{known, e}
}

type misprofiled struct {
	Model
	off Misprofile
}

// Speed implements Model.
func (m misprofiled) Speed(s *cluster.View, job cluster.JobID) float64 {
	return m.Model.Speed(s, job) * m.off.factor(s, job)
}

// Coupled implements Model. It adds the jobs that share a GPU with the placement even if no part couples them, because the factor
// depends on sharing.
func (m misprofiled) Coupled(s *cluster.View, p cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return Sharing{}.Coupled(s, p, m.Model.Coupled(s, p, dst))
}

func (e Misprofile) factor(s *cluster.View, job cluster.JobID) float64 {
	spec, p := s.Spec(job), s.Placement(job)
	if profile.Lookup(spec.Trains()) == nil {
		return 1
	}
	workers := p.Workers()
	kind := uint64(1 + cmp.Compare(workers, spec.Workers))
	kind = 3*kind + uint64(1+held(p, spec.Request))
	kind = 2*kind + bit(len(p) > int((workers+s.MostGPUs()-1)/s.MostGPUs()))
	kind = 2*kind + bit(s.Sharing(job))
	x := fold(fold(fnvBasis^e.Seed, spec.Trains()), gpuType(s, p))
	u := float64(scramble((x^kind)*fnvPrime)>>11) / (1 << 53)
	return math.Exp((2*u - 1) * math.Log1p(e.Within))
}

// gpuType returns the type of a placement's GPUs: the V100 for an empty type, "mixed" for several types.
func gpuType(s *cluster.View, p cluster.Placement) string {
	first := s.Server(p[0].Server).GPUType
	for _, q := range p[1:] {
		if s.Server(q.Server).GPUType != first {
			return "mixed"
		}
	}
	return cmp.Or(first, profile.MeasuredGPUs[profile.V100])
}

// held returns -1 if a worker has less CPU or memory than the job asked for. If none has, it returns 1 if a worker has more, and
// 0 otherwise.
func held(p cluster.Placement, want cluster.Amount) int {
	more := 0
	for i := range p {
		switch {
		case p[i].CPUMilli < want.CPUMilli || p[i].MemMiB < want.MemMiB:
			return -1
		case p[i].CPUMilli > want.CPUMilli || p[i].MemMiB > want.MemMiB:
			more = 1
		}
	}
	return more
}

func bit(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}
