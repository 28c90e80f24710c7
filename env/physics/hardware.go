package physics

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// GPUType is the speed of the job's model on the GPUs that the job holds, relative to the V100 (Gavel, OSDI 2020; the T4 after
// Lyra, EuroSys 2023, §7.5). A gang on several GPU types runs at mixedSpeed times the mean speed of its workers. An unknown GPU
// type or model has the factor 1.
type GPUType struct{ alone }

// mixedSpeed is the fraction of the mean speed that remains on mixed GPU types (Lyra, §7.1: at most 70 %).
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
	f := profile.Lookup(s.Spec(job).Trains())
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

// SpeedOn returns the factor of GPUType for a job whose workers all hold GPUs of one type, or 1 if GPUType is not among the parts
// of the model.
func SpeedOn(m Model, spec *cluster.JobSpec, gpuType string) float64 {
	p, ok := m.(product)
	if !ok || !slices.Contains(p.parts, Part(GPUType{})) {
		return 1
	}
	f := profile.Lookup(spec.Trains())
	if f == nil {
		return 1
	}
	speed, _ := f.GPUSpeed(gpuType)
	return speed
}

// CPUMem is the speed of the job's model with the CPU and memory that its workers hold, relative to the amounts that the job
// asked for (Synergy, OSDI 2022). The slowest worker determines the gang's speed. The factor is 1 if the job asked for no CPU or
// no memory, or if its model is unknown.
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
	f := profile.Lookup(spec.Trains())
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
