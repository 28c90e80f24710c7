package profile

import "math"

// Strong is a strength of interference for Beside, as Gavel measured it. Its GPUs are of 2016 to 2018; newer ones share with
// less loss, as Lucid measured on an RTX 3090 (S-Lab's repository; its licence lets us compare, not ship): a strength of
// about 0.3. Training that should hold for both draws a strength from 0.3 to 1.3.
const Strong = 1.0

// Vectors returns the family's sensitivity s and pressure p on a GPU of that type, all components at least 0. They are
// fitted to Gavel's measured pairs, rank 2. A type that Gavel did not measure counts as a V100. The two components of one
// GPU type have no meaning with those of another.
func (f *Family) Vectors(gpuType string) (s, p [2]float64) {
	g := index(gpuType)
	return f.s[g], f.p[g]
}

// Beside returns the speed, in (0, 1], of a worker of sensitivity s beside partners whose pressures add up to p on the same
// GPU, relative to the worker alone there: exp(-strength · s·p). Gavel measured pairs; that pressures of several partners
// add up is an assumption.
func Beside(strength float64, s, p [2]float64) float64 {
	return math.Exp(-strength * (s[0]*p[0] + s[1]*p[1]))
}
