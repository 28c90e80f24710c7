package headroom

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/trace"
)

// sharing bounds how much more a GPU does for jobs that share it by turns than for one alone. Jobs of a set S on one GPU run
// at rates r(j, S) relative to themselves alone there; F(S) is the sum of these. A job of model m counts as 1/of(m, type) of a
// GPU while it works at full rate, where of(m, type) is at least F(S) for every S with an m in it. Then what the jobs of any S
// count together, Σ r(j, S)/of(j) ≤ Σ r(j, S)/F(S) = 1, is never more than the GPU.
//
// A gang works at the rate of its slowest worker, so what it counts on every GPU it has is no more than that.
type sharing struct {
	models   []string
	families []*profile.Family
	memory   []int32 // the least that a job of the model needs on its GPU
	most     int     // jobs on a GPU
	types    map[string][]float64
}

func newSharing(v *speeds, jobs []trace.Job) *sharing {
	c := &sharing{most: int(v.spec.PerGPU), types: map[string][]float64{}}
	if c.most == 0 {
		c.most = cluster.WholeGPU // a share is a thousandth at least
	}
	index := map[string]int{}
	for i := range jobs {
		j := &jobs[i]
		k, ok := index[j.Model]
		if !ok {
			k = len(c.models)
			index[j.Model] = k
			c.models, c.memory = append(c.models, j.Model), append(c.memory, j.Request.GPUMemMiB)
			c.families = append(c.families, profile.Lookup(j.Model))
		}
		c.memory[k] = min(c.memory[k], j.Request.GPUMemMiB)
	}
	for _, t := range v.types {
		c.types[t] = c.bound(v, t)
	}
	return c
}

// of returns the bound for a model on a type of GPU.
func (c *sharing) of(model, gpuType string) float64 {
	for i, m := range c.models {
		if m == model {
			return c.types[gpuType][i]
		}
	}
	return math.Inf(1)
}

// bound works it out from pairs. A rate among k jobs is no higher than beside any one of the k-1 others, as pressures add up,
// so no higher than the mean of these: F(S) ≤ Σ F(pairs of S) / (k-1). Of the pairs k-1 have the m in them, the others do not:
// F(S) ≤ pair(m) + (k-2)/2 · pair, where pair(m) bounds those with an m and pair all of them.
func (c *sharing) bound(v *speeds, gpuType string) []float64 {
	n := len(c.models)
	pair, all := make([]float64, n), 0.0
	for a := range n {
		for b := range n {
			if c.fit(v, gpuType, c.memory[a], c.memory[b]) {
				pair[a] = max(pair[a], c.rate(v, gpuType, a, b)+c.rate(v, gpuType, b, a))
			}
		}
		all = max(all, pair[a])
	}
	out := make([]float64, n)
	for m := range out {
		if out[m] = 1; c.most > 1 && pair[m] > 0 { // grows in the number of jobs
			out[m] = max(1, pair[m]+float64(c.most-2)/2*all)
		}
	}
	return out
}

// fit reports whether both fit into the memory of some GPU of the type.
func (c *sharing) fit(v *speeds, gpuType string, a, b int32) bool {
	for i := range v.spec.Servers {
		s := &v.spec.Servers[i]
		if s.GPUType == gpuType && (s.GPUMemMiB == 0 || int64(a)+int64(b) <= int64(s.GPUMemMiB)) {
			return true
		}
	}
	return false
}

// rate is that of a beside b.
func (c *sharing) rate(v *speeds, gpuType string, a, b int) float64 {
	if c.families[a] == nil || c.families[b] == nil {
		return 1
	}
	sensitivity, _ := c.families[a].Vectors(gpuType)
	_, pressure := c.families[b].Vectors(gpuType)
	return profile.Beside(v.strength, sensitivity, pressure)
}
