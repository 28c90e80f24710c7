package profile

// The GPU types that Gavel measured, as indices of arrays.
const (
	V100 = iota
	p100
	K80
	measured
)

// MeasuredGPUs names the GPU types that Gavel measured, in the order of their indices.
var MeasuredGPUs = [measured]string{"V100", "P100", "K80"}

// Speeds relative to the V100 that are not published per job type. They apply to every family.
const (
	// Three servers of T4 GPUs compute as much as one of V100 GPUs: Lyra (EuroSys 2023, §7.5).
	speedT4 = 1.0 / 3
	// Assumption: between the ratio of memory bandwidth (1555/900 GB/s = 1.7) and that of peak tensor FLOP (312/125 = 2.5)
	// of NVIDIA's data sheets of the A100 40 GB and the V100 SXM2.
	speedA100 = 2.0
)

// index returns the index of a measured GPU type; any other type counts as the V100.
func index(gpuType string) int {
	switch gpuType {
	case "P100":
		return p100
	case "K80":
		return K80
	}
	return V100
}

// GPUSpeed returns how fast the family runs alone on a GPU of the given type, relative to 1 on a V100, and whether the type is
// known. Known types are "V100" (also "V100M16" and "V100M32", Alibaba's names with the memory), "P100" and "K80" as measured by
// Gavel, "T4" after Lyra, "A100" by assumption, and "" for a cluster without GPU types. An unknown type counts as a V100.
func (f *Family) GPUSpeed(gpuType string) (speed float64, ok bool) {
	switch gpuType {
	case "V100", "V100M16", "V100M32", "":
		return 1, true
	case "P100":
		return f.speed[p100], true
	case "K80":
		return f.speed[K80], true
	case "T4":
		return speedT4 * f.other, true
	case "A100":
		return speedA100 * f.other, true
	}
	return 1, false
}
