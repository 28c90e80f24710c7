package profile

import "math"

// The fair share of one GPU: one eighth of Synergy's server with 8 GPUs, 24 cores and 500 GB (OSDI 2022).
const (
	FairCores  = 3.0
	FairMemGiB = 62.5
)

// leastSpeed is the lower bound of CPUMem far outside the measured range, in which the lowest speed is 0.1.
const leastSpeed = 0.01

// Surface is the speed of a model as a function of the CPU cores and the host memory per GPU. A training step waits for the
// slowest of four resources: the CPUs that prepare the input, the storage that delivers what memory does not cache, the memory
// that contains the working set, and the GPU. Each has a rate, relative to the speed at the fair share. The speed is the smooth
// minimum of the rates,
//
//	(Σ rate^-Sharpness)^(-1/Sharpness)
//
// which rises in cores and memory, and saturates below GPU. All fields are above 0.
type Surface struct {
	CPU, CPUPower     float64 // rate CPU·cores^CPUPower
	Fetch, FetchPower float64 // rate Fetch·(GiB/FairMemGiB)^FetchPower
	Hold, HoldPower   float64 // rate Hold·(GiB/FairMemGiB)^HoldPower
	GPU               float64 // rate
	Sharpness         float64
}

// At returns the speed with the given number of cores and GiB per GPU, at least 0.01. It is not scaled to 1 at the fair share.
func (s Surface) At(cores, memGiB float64) float64 {
	compiled := s.compile()
	return compiled.at(cores, memGiB)
}

// Normalised returns the surface scaled to 1 at the fair share.
func (s Surface) Normalised() Surface {
	fair := s.At(FairCores, FairMemGiB)
	s.CPU /= fair
	s.Fetch /= fair
	s.Hold /= fair
	s.GPU /= fair
	return s
}

// surface is a Surface with every rate raised to the power of -Sharpness in advance: rate^-Sharpness is exp(base + slope·log x).
type surface struct {
	cpu, cpuSlope, fetch, fetchSlope, hold, holdSlope, gpu, root float64
}

func (s Surface) compile() surface {
	q, fair := s.Sharpness, math.Log(FairMemGiB)
	return surface{
		cpu: -q * math.Log(s.CPU), cpuSlope: -q * s.CPUPower,
		fetch: -q * (math.Log(s.Fetch) - s.FetchPower*fair), fetchSlope: -q * s.FetchPower,
		hold: -q * (math.Log(s.Hold) - s.HoldPower*fair), holdSlope: -q * s.HoldPower,
		gpu: math.Pow(s.GPU, -q), root: -1 / q,
	}
}

func (s *surface) at(cores, memGiB float64) float64 {
	if !(cores > 0 && memGiB > 0) {
		return leastSpeed
	}
	c, m := math.Log(cores), math.Log(memGiB)
	sum := s.gpu + math.Exp(s.cpu+s.cpuSlope*c) + math.Exp(s.fetch+s.fetchSlope*m) + math.Exp(s.hold+s.holdSlope*m)
	return max(leastSpeed, math.Exp(s.root*math.Log(sum)))
}

// CPUMem returns the family's speed with the given number of CPU cores and GiB of host memory per GPU, relative to 1 with the
// fair share of 3 cores and 62.5 GiB. It is above 0, never decreases in either argument, and saturates. It is fitted to Synergy's
// profile, measured on V100 servers, of the model that represents the family there (MIT licence; OSDI 2022).
func (f *Family) CPUMem(cores, memGiB float64) float64 {
	if f.memo == nil {
		return f.surface.at(cores, memGiB)
	}
	return f.memo.of(cores, memGiB, f.surface.at)
}
