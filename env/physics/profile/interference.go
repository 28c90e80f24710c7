package profile

import "math"

// Strong is the strength of interference, for Beside, that Gavel measured on GPUs of 2016 to 2018. Newer GPUs lose less when
// shared: Lucid's measurements on an RTX 3090 give a strength of about 0.3 (S-Lab's repository; its licence lets us compare with
// them, not distribute them). For a policy that works with both, draw the strength from 0.3 to 1.3 in training.
const Strong = 1.0

// Vectors returns the family's sensitivity s and pressure p on a GPU of the given type, all components at least 0. They are a
// rank-2 fit to the pairs that Gavel measured. A type that Gavel did not measure counts as a V100. Do not combine vectors of
// different GPU types: their components are not comparable.
func (f *Family) Vectors(gpuType string) (s, p [2]float64) {
	g := index(gpuType)
	return f.s[g], f.p[g]
}

// Beside returns the speed, in (0, 1], of a worker with sensitivity s that shares a GPU with partners whose pressures add up to
// p, relative to its speed alone on that GPU: exp(-strength · s·p). Gavel measured only pairs; adding up the pressures of several
// partners is an assumption.
func Beside(strength float64, s, p [2]float64) float64 {
	return besides.of(-strength*(s[0]*p[0]+s[1]*p[1]), 0, func(x, _ float64) float64 { return math.Exp(x) })
}

// besides caches the exponentials of Beside: there are few pairs of families.
var besides = newMemo(1 << 12)
