package profile

import "math"

// idleShare is the fraction of its limit that a GPU draws while no job uses it. It is an assumption: data sheets do not state it.
const idleShare = 0.15

// limits contains the most that a GPU draws, in watts, from NVIDIA's data sheets; for the K80 half of a board of two GPUs.
var limits = []struct {
	gpuType string
	watts   float64
}{
	{"V100", 300}, {"P100", 250}, {"K80", 150}, {"T4", 70}, {"A100", 400},
}

// draws contains, by domain, which part of the span from idle to the limit a GPU draws while it trains a model. The values are
// assumptions. Large language models reach the limit when they train (Patel et al., "POLCA", arXiv 2308.12908). Image models
// leave part of the GPU unused, and recommendation and control wait for their CPUs most of the time.
var draws = []struct {
	domain string
	part   float64
}{
	{"language", 1}, {"vision", 0.8}, {"recommendation", 0.5}, {"control", 0.4},
}

// IdleWatts returns what a GPU of the type draws while no job uses it, in whole watts, so that sums do not depend on their order.
// A type without a known limit counts as the V100.
func IdleWatts(gpuType string) int64 { return int64(math.Round(idleShare * limit(gpuType))) }

// BusyWatts returns what a GPU of the type draws at its full clock, in addition to IdleWatts, while it trains the family.
func (f *Family) BusyWatts(gpuType string) int64 {
	part := 1.0
	for _, d := range draws {
		if d.domain == f.domain {
			part = d.part
		}
	}
	return int64(math.Round(part * (1 - idleShare) * limit(gpuType)))
}

func limit(gpuType string) float64 {
	for _, l := range limits {
		if l.gpuType == gpuType {
			return l.watts
		}
	}
	return limits[0].watts
}
