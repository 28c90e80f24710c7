package physics

import (
	"cmp"
	"math"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// Misprofile says how far off profiles are. What they tell of a job's speed is off by a factor from 1/(1+Within) to 1+Within,
// log-uniform, that is fixed for its model and the kind of configuration that it runs in, and drawn from Seed. Speeds as they
// are know nothing of it. The zero value is off by nothing.
//
// The kind is what of the configuration differs from what the job asked for: the type of its GPUs, none counting as the
// reference, whether it is on more servers than it needs, has fewer or more workers, less or more CPU or memory, and shares a
// GPU with another job. All jobs of a model are misjudged alike, so that no scheduler can average the factor out. A model that
// no profile knows has none that could be off.
type Misprofile struct {
	Within float64
	Seed   uint64
}

// Profiled returns what schedulers are told of a model: Profiled of it, off by the factors.
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

// Coupled implements Model: also jobs that no physics couples come to share a GPU.
func (m misprofiled) Coupled(s *cluster.View, p cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return Sharing{}.Coupled(s, p, m.Model.Coupled(s, p, dst))
}

func (e Misprofile) factor(s *cluster.View, job cluster.JobID) float64 {
	spec, p := s.Spec(job), s.Placement(job)
	if profile.Lookup(spec.Model) == nil {
		return 1
	}
	workers := p.Workers()
	kind := uint64(1 + cmp.Compare(workers, spec.Workers))
	kind = 3*kind + uint64(1+held(p, spec.Request))
	kind = 2*kind + bit(len(p) > int((workers+s.MostGPUs()-1)/s.MostGPUs()))
	kind = 2*kind + bit(beside(s, job))
	x := fold(fold(fnvBasis^e.Seed, spec.Model), gpuType(s, p))
	u := float64(scramble((x^kind)*fnvPrime)>>11) / (1 << 53)
	return math.Exp((2*u - 1) * math.Log1p(e.Within))
}

// gpuType is the type of a placement's GPUs, that which speeds are relative to for none, "mixed" of several.
func gpuType(s *cluster.View, p cluster.Placement) string {
	first := s.Server(p[0].Server).GPUType
	for _, q := range p[1:] {
		if s.Server(q.Server).GPUType != first {
			return "mixed"
		}
	}
	return cmp.Or(first, profile.MeasuredGPUs[profile.V100])
}

// held is -1 where a worker has less CPU or memory than asked for, else 1 where one has more, else 0.
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

// beside tells whether another job is on one of the job's GPUs.
func beside(s *cluster.View, job cluster.JobID) bool {
	for _, q := range s.Placement(job) {
		if q.GPUMilli == cluster.WholeGPU || s.Shared(q.Server) == 0 {
			continue
		}
		for _, other := range s.Residents(q.Server) {
			if other != job && slices.ContainsFunc(s.GPUsOn(job, q.Server), func(g int32) bool {
				return slices.Contains(s.GPUsOn(other, q.Server), g)
			}) {
				return true
			}
		}
	}
	return false
}

func bit(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}
