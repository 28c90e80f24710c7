package physics

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// GPUType runs a job as fast as its model runs on the GPUs it holds, relative to the V100 (Gavel, OSDI 2020; the T4 after
// Lyra, EuroSys 2023, §7.5). A gang on several types at once reaches mixedSpeed of the mean of its workers. A type or a model
// that is not known counts 1.
type GPUType struct{ alone }

// mixedSpeed is what is left of the ideal speed on mixed GPUs (Lyra, §7.1: at most 70 %).
const mixedSpeed = 0.7

// Name implements Part.
func (GPUType) Name() string { return "gpu-type" }

// Factor implements Part.
func (GPUType) Factor(s *cluster.View, job cluster.JobID) float64 {
	p := s.Placement(job)
	first := s.Server(p[0].Server).GPUType
	if first == "" && len(p) == 1 {
		return 1
	}
	f := profile.Lookup(s.Spec(job).Model)
	if f == nil {
		return 1
	}
	mixed, sum, workers := false, 0.0, int32(0)
	for i := range p {
		t := s.Server(p[i].Server).GPUType
		mixed = mixed || t != first
		speed, _ := f.GPUSpeed(t)
		sum += speed * float64(p[i].Workers)
		workers += p[i].Workers
	}
	if !mixed {
		return sum / float64(workers)
	}
	return mixedSpeed * sum / float64(workers)
}

// CPUMem runs a job as fast as its model runs with the CPU and memory that its workers hold, relative to what it asked for
// (Synergy, OSDI 2022). The worker with the least sets the pace. A job that asked for no CPU, or whose model is not known,
// does not mind.
type CPUMem struct{ alone }

// Name implements Part.
func (CPUMem) Name() string { return "cpu-mem" }

// Factor implements Part.
func (CPUMem) Factor(s *cluster.View, job cluster.JobID) float64 {
	spec, p := s.Spec(job), s.Placement(job)
	want := spec.Request
	if want.CPUMilli == 0 || want.MemMiB == 0 {
		return 1
	}
	same := true
	for i := range p {
		same = same && p[i].CPUMilli == want.CPUMilli && p[i].MemMiB == want.MemMiB
	}
	if same {
		return 1
	}
	f := profile.Lookup(spec.Model)
	if f == nil {
		return 1
	}
	least := f.CPUMem(cores(want), gib(want))
	fair := least
	for i := range p {
		speed := f.CPUMem(cores(p[i].Amount), gib(p[i].Amount))
		if i == 0 || speed < least {
			least = speed
		}
	}
	return least / fair
}

func cores(a cluster.Amount) float64 { return float64(a.CPUMilli) / 1000 }
func gib(a cluster.Amount) float64   { return float64(a.MemMiB) / 1024 }
