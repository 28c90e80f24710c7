package headroom

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/trace"
)

// sharing bounds how much more work a GPU does when jobs share it than when one job has it alone. Jobs of a set S on one GPU each
// run at a rate r(j, S), relative to j alone on the GPU; F(S) is the sum of these rates. A job of model m counts as 1/of(m, type)
// of a GPU while it works at full rate, where of(m, type) ≥ F(S) for every S that contains m. Then the jobs of any S together
// count as Σ r(j, S)/of(j) ≤ Σ r(j, S)/F(S) = 1, never more than the GPU.
//
// A gang works at the rate of its slowest worker, so it counts as no more than that on any of its GPUs.
type sharing struct {
	models   []string
	families []*profile.Family
	memory   []int32 // the least GPU memory that a job of the model needs
	most     int     // the most jobs on one GPU
	types    map[string][]float64
}

func newSharing(v *speeds, jobs []trace.Job) *sharing {
	c := &sharing{most: int(v.spec.PerGPU), types: map[string][]float64{}}
	if c.most == 0 {
		c.most = cluster.WholeGPU // a share is at least a thousandth
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

// of returns the bound for a model on a GPU type.
func (c *sharing) of(model, gpuType string) float64 {
	for i, m := range c.models {
		if m == model {
			return c.types[gpuType][i]
		}
	}
	return math.Inf(1)
}

// bound computes the bounds for a GPU type from pairs of models. Pressures add up, so a job's rate among k jobs is at most its
// rate beside any one of the k-1 others, and at most the mean of these: F(S) ≤ Σ F(pairs of S) / (k-1). k-1 of the pairs contain
// m: F(S) ≤ pair(m) + (k-2)/2 · pair, where pair(m) bounds the pairs with m and pair bounds all pairs.
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
		if out[m] = 1; c.most > 1 && pair[m] > 0 { // the bound grows with the number of jobs
			out[m] = max(1, pair[m]+float64(c.most-2)/2*all)
		}
	}
	return out
}

// fit reports whether two jobs with memory needs a and b fit together on a single GPU of the given type.
func (c *sharing) fit(v *speeds, gpuType string, a, b int32) bool {
	for i := range v.spec.Servers {
		s := &v.spec.Servers[i]
		if s.GPUType == gpuType && (s.GPUMemMiB == 0 || int64(a)+int64(b) <= int64(s.GPUMemMiB)) {
			return true
		}
	}
	return false
}

// rate returns the rate of model a beside model b.
func (c *sharing) rate(v *speeds, gpuType string, a, b int) float64 {
	if c.families[a] == nil || c.families[b] == nil {
		return 1
	}
	sensitivity, _ := c.families[a].Vectors(gpuType)
	_, pressure := c.families[b].Vectors(gpuType)
	return profile.Beside(v.strength, sensitivity, pressure)
}
