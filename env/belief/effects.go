package belief

import (
	"math"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
)

// The logarithm of a job's speed is a sum of effects. Each effect is a number that describes the configuration times a
// coefficient that Speeds learns. These are the indices of the effects:
const (
	cpuAt     = 0                  // logarithm of the cores of a worker, in parts between cpuEdges
	memAt     = cpuAt + cpuParts   // logarithm of the host memory of a worker
	shareAt   = memAt + 1          // logarithm of the share of a GPU
	workersAt = shareAt + 1        // logarithm of the number of workers, in parts between workerEdges
	spreadAt  = workersAt + wParts // 1 - (servers needed)/(servers used)
	racksAt   = spreadAt + 1       // 1 if it uses more than one rack
	sharedAt  = racksAt + 1        // 1 if another job uses one of its GPUs
	mixedAt   = sharedAt + 1       // 1 if its GPUs are of several types
	typesAt   = mixedAt + 1        // for each type in Speeds.types the part of the types of its GPUs, 1 if it has only that one
	effects   = typesAt + mostTypes

	cpuParts  = len(cpuEdges) - 1
	wParts    = len(workerEdges) - 1
	mostTypes = 8
)

var (
	cpuEdges    = [...]float64{0.25, 1, 2, 3, 4, 6, 8, 12, 48} // cores
	workerEdges = [...]float64{1, 2, 4, 8, 16, 128}
)

// A vector has a number for each effect, a matrix for each pair of effects.
type (
	vector [effects]float64
	matrix [effects]vector
)

// times returns the sum of the products.
func (x *vector) times(y *vector) (sum float64) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// parts divides the logarithm of x above the first edge into the parts between the edges.
func parts(dst, edges []float64, x float64) {
	for i := range dst {
		if x <= edges[i] {
			return
		}
		dst[i] = math.Log(min(x, edges[i+1]) / edges[i])
	}
}

// cliff is by how much the logarithm of speed falls with that of memory, below the memory that the job asked for: a job that has
// too little memory may not run at all, so that nobody tries it.
const cliff = 4

// described describes a configuration. The parameter perServer is the number of GPUs of the largest server. The numbers of types
// that no reading had are left out of the vector; alone is their expected effect, and alone2 its variance.
func (l *Speeds) described(perServer int32, c *cluster.Configuration) (x vector, alone, alone2 float64) {
	parts(x[cpuAt:cpuAt+cpuParts], cpuEdges[:], float64(c.CPUMilli)/1000)
	if c.MemMiB > 0 {
		x[memAt] = math.Log(float64(c.MemMiB))
	}
	if c.GPUMilli != cluster.WholeGPU {
		x[shareAt] = math.Log(float64(max(c.GPUMilli, 1)) / cluster.WholeGPU)
	}
	parts(x[workersAt:workersAt+wParts], workerEdges[:], float64(c.Workers))
	perServer = max(perServer, 1)
	if need := (c.Workers + perServer - 1) / perServer; c.Servers > need {
		x[spreadAt] = 1 - float64(need)/float64(c.Servers)
	}
	if c.Racks > 1 {
		x[racksAt] = 1
	}
	if c.Shared {
		x[sharedAt] = 1
	}
	part := 1.0
	if n := strings.Count(c.GPUType, "|"); n > 0 {
		x[mixedAt], part = 1, 1/float64(n+1)
	}
	for name := range strings.SplitSeq(c.GPUType, "|") {
		speed := typeSpeed(name)
		switch i := l.slot(name); {
		case speed.reference:
		case i >= 0:
			x[typesAt+i] += part
		default:
			alone += part * math.Log(speed.ratio)
			alone2 += part * part * speed.deviation * speed.deviation
		}
	}
	return x, alone, alone2
}

// slot returns the index of a GPU type in l.types, -1 if it is not there.
func (l *Speeds) slot(name string) int {
	for i, t := range l.types {
		if t == name {
			return i
		}
	}
	return -1
}

// gpuBelief says what is believed of a GPU type before anything was measured on it: how fast a job runs there, relative to
// the V100, and the standard deviation of the logarithm.
type gpuBelief struct {
	ratio, deviation float64
	reference        bool
}

// typeSpeed returns what is believed of a GPU type in advance: for the P100 and the K80 about the mean of the models that Gavel
// measured (OSDI 2020), for the T4 the ratio of Lyra (EuroSys 2023, §7.5), for the A100 that of its memory bandwidth and peak
// rate. A type that is not listed, and a cluster without types, count as V100, as in package physics.
func typeSpeed(name string) gpuBelief {
	switch name {
	case "", "V100", "V100M16", "V100M32":
		return gpuBelief{ratio: 1, reference: true}
	case "P100":
		return gpuBelief{ratio: 0.6, deviation: 0.3}
	case "T4":
		return gpuBelief{ratio: 0.33, deviation: 0.3}
	case "K80":
		return gpuBelief{ratio: 0.25, deviation: 0.3}
	case "A100":
		return gpuBelief{ratio: 2, deviation: 0.3}
	}
	return gpuBelief{ratio: 1, deviation: 0.5}
}

// What is known of coefficients before anything was measured in the cluster: about the means over the published profiles of
// models, weighted by how often the training windows of the built-in scenarios train each, and how far models differ from the
// mean. CPU is after Synergy (OSDI 2022), workers after Pollux (OSDI 2021), shared GPUs after Gavel (OSDI 2020). Parts that no
// profile covers are own choices.
var (
	cpuMeans      = [cpuParts]float64{0.85, 0.65, 0.6, 0.55, 0.4, 0.15, 0.05, 0}
	cpuDeviations = [cpuParts]float64{0.2, 0.4, 0.4, 0.4, 0.35, 0.2, 0.15, 0.1}
	workerMeans   = [wParts]float64{-0.3, -0.2, -0.3, -0.8, -0.5}
)

const (
	cautionDeviation = 0.5 // of the parts of CPU below what the job asked for
	workerDeviation  = 0.25
	shareMean        = 0.5 // without it, the menu gives shares even to jobs that it leaves alone on their GPUs
	shareDeviation   = 0.5
	sharedMean       = -0.45
	sharedDeviation  = 0.4
	mixedMean        = -0.36 // a gang on several types runs at 0.7 times the mean: Lyra (EuroSys 2023, §7.1)
	spreadMean       = -2    // by training windows of Venus, as spreadDeviation and the deviation of spread below
	spreadDeviation  = 1.5
	racksMean        = -1 // by training windows of turns-small, power-turns-small and uplinks-warm-venus, as the next
	racksDeviation   = 0.6
	others           = 0.3 // deviation of the other coefficients; own choice, as are the numbers below
	memoryDeviation  = 0.1
	cautiousShared   = -0.7 // mean of shared GPUs without learning: half as fast
	correlation      = 0.7  // correlation of the parts of CPU, and of those of workers
)

// prior returns the means and standard deviations of the coefficients of a job with the given request before anything was
// measured.
//
// Without learning they are cautious: a worker that gets less CPU or a smaller share of a GPU than it asked for is slower in
// proportion, one that gets more is not faster (for shares see relative), more workers bring nothing, two jobs that share a GPU
// are half as fast, and a gang on more servers than it needs or in several racks is slow. With learning they are as published,
// except that a worker that gets less CPU than it asked for is still believed to be slower in proportion. A share of a GPU is
// somewhere between a limit of memory alone, as where GPUs are time-sliced, and one of speed, as where they are partitioned.
func (l *Speeds) prior(cpuMilli, workers int32) (mean, sd vector) {
	for i := range cpuParts {
		less := below(cpuEdges[i], cpuEdges[i+1], float64(cpuMilli)/1000)
		mean[cpuAt+i], sd[cpuAt+i] = less, less*cautionDeviation+(1-less)*cpuDeviations[i]
		if l.learns {
			mean[cpuAt+i] += (1 - less) * cpuMeans[i]
		}
	}
	for i := range wParts {
		mean[workersAt+i], sd[workersAt+i] = below(workerEdges[i], workerEdges[i+1], float64(workers))-1, workerDeviation
	}
	mean[sharedAt], sd[sharedAt] = cautiousShared, sharedDeviation
	mean[shareAt], sd[shareAt] = 1, shareDeviation
	if l.learns {
		mean[shareAt] = shareMean
		copy(mean[workersAt:], workerMeans[:])
		mean[sharedAt] = sharedMean
	}
	sd[memAt] = memoryDeviation
	mean[spreadAt], sd[spreadAt] = spreadMean, spreadDeviation
	mean[racksAt], sd[racksAt] = racksMean, racksDeviation
	mean[mixedAt], sd[mixedAt] = mixedMean, others
	for i, name := range l.types {
		b := typeSpeed(name)
		mean[typesAt+i], sd[typesAt+i] = math.Log(b.ratio), b.deviation
	}
	for i := len(l.types); i < mostTypes; i++ {
		sd[typesAt+i] = 1 // no reading has it
	}
	return mean, sd
}

// correlated returns the covariance of coefficients with the given standard deviations. How much CPU brings in one part tells
// how much it brings in the others, and so it is with workers.
func correlated(sd *vector) (v matrix) {
	for i, s := range sd {
		v[i][i] = s * s
	}
	for _, block := range [][2]int{{cpuAt, cpuParts}, {workersAt, wParts}} {
		for i := block[0]; i < block[0]+block[1]; i++ {
			for k := block[0]; k < block[0]+block[1]; k++ {
				if i != k {
					v[i][k] = correlation * sd[i] * sd[k]
				}
			}
		}
	}
	return v
}

// below returns which part of the interval from lo to hi, in logarithms, is below x.
func below(lo, hi, x float64) float64 {
	if x <= lo {
		return 0
	}
	return math.Log(min(x, hi)/lo) / math.Log(hi/lo)
}

// deviation contains the standard deviations by which the coefficients of a model (or a user) differ from those of all jobs.
// Those of a job differ from those of its model (or user) by as much again.
var deviation = func() (sd vector) {
	for i := range cpuParts {
		sd[cpuAt+i] = 0.7 * cpuDeviations[i]
	}
	sd[memAt], sd[shareAt] = 0.05, 0.1
	for i := range wParts {
		sd[workersAt+i] = 0.12
	}
	for i := spreadAt; i < effects; i++ {
		sd[i] = 0.2
	}
	sd[spreadAt], sd[racksAt], sd[sharedAt] = 1, 0.3, 0.25
	return sd
}()

// variation is their covariance.
var variation = correlated(&deviation)

// bounds returns those of a coefficient that hold for every job: CPU, memory and share do not slow it down and bring at most as
// much as they grow; workers do not speed each other up; spread, several racks, shared or mixed GPUs do not speed it up.
func bounds(effect int) (least, most float64) {
	switch {
	case effect < workersAt:
		return 0, 1
	case effect < spreadAt:
		return -1, 0
	case effect < typesAt:
		return -6, 0
	}
	return -6, 6
}

// sensible makes the means of coefficients consistent with what holds for every job: with their bounds, and that each further
// core brings less. It goes from one bound that is exceeded to the next, the farthest first in standard deviations, and
// replaces the means by those under the condition that the coefficient is at its bound. Then it pools the effects of CPU that
// rise.
func sensible(mean *vector, covariance *matrix) {
	v := *covariance
	for range effects {
		worst, at, far := -1, 0.0, 1e-6
		for i, m := range mean {
			least, most := bounds(i)
			bound := min(max(m, least), most)
			if v[i][i] <= 1e-9*covariance[i][i] {
				continue
			}
			if d := math.Abs(m-bound) / math.Sqrt(v[i][i]); d > far {
				worst, at, far = i, bound, d
			}
		}
		if worst < 0 {
			break
		}
		exact := difference{Y: at}
		exact.X[worst] = 1
		exact.update(mean, &v)
	}
	var weights [cpuParts]float64
	for i := range weights {
		weights[i] = 1 / covariance[cpuAt+i][cpuAt+i]
	}
	falling(mean[cpuAt:cpuAt+cpuParts], weights[:])
	for i := range mean {
		least, most := bounds(i)
		if mean[i] = min(max(mean[i], least), most); i < workersAt && mean[i] < nothing {
			mean[i] = 0
		}
	}
}

// nothing is the largest effect of CPU, memory or share that counts as none: readings are not exact enough to tell them apart.
const nothing = 0.04

// falling replaces the values by the nearest ones that never rise: it pools adjacent violators (Barlow, Bartholomew, Bremner and
// Brunk, Statistical Inference under Order Restrictions, 1972). Distances are weighted.
func falling(values, weights []float64) {
	var pooled [effects]struct {
		mean, weight float64
		n            int
	}
	k := 0
	for i, v := range values {
		b := &pooled[k]
		b.mean, b.weight, b.n = v, weights[i], 1
		for k++; k > 1 && pooled[k-2].mean < pooled[k-1].mean; k-- {
			a, b := &pooled[k-2], &pooled[k-1]
			a.mean = (a.mean*a.weight + b.mean*b.weight) / (a.weight + b.weight)
			a.weight += b.weight
			a.n += b.n
		}
	}
	i := 0
	for _, b := range pooled[:k] {
		for range b.n {
			values[i] = b.mean
			i++
		}
	}
}
