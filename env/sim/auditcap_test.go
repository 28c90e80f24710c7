package sim_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// speedCap returns an upper bound on a job's speed, given its placement and the maximum factor of each part of the physics.
// Sharing, the number of servers, the network, in both its forms, and power can only slow a job down.
func speedCap(m physics.Model, spec *cluster.JobSpec, p cluster.Placement, c *cluster.Spec) float64 {
	name, f := m.Name(), profile.Lookup(spec.Model)
	most := float64(p.GPUMilli()) / (float64(spec.Workers) * float64(spec.Request.GPUMilli))
	if strings.Contains(name, "sharing(") {
		most = float64(p.Workers()) / float64(spec.Workers)
	}
	for part := range strings.SplitSeq(name, " * ") {
		kind, _, _ := strings.Cut(part, "(")
		number := 0.0 // stays 0 if the part has no number
		fmt.Sscanf(part[min(len(part), len(kind)+1):], "%g", &number)
		switch {
		case kind == "jitter":
			most *= math.Exp(2 * number)
		case kind == "diminishing":
			most *= 1 / number // the bound: each worker of the requested gang counts Gain, each of this gang counts 1
		case f == nil:
		case kind == "gpu-type":
			fastest := 0.0
			for _, t := range c.Types() {
				speed, _ := f.GPUSpeed(t)
				fastest = max(fastest, speed)
			}
			most *= fastest
		case kind == "cpu-mem" && spec.Request.CPUMilli > 0 && spec.Request.MemMiB > 0:
			most *= f.CPUMem(1e6, 1e6) / f.CPUMem(float64(spec.Request.CPUMilli)/1000, float64(spec.Request.MemMiB)/1024)
		case kind == "scaling" && p.Workers() != spec.Workers:
			most *= bestWorker(f, c, p.Workers()) / worstWorker(f, c, spec.Workers)
		}
	}
	return most
}

// bestWorker returns the highest throughput per worker of a gang over all numbers of servers; worstWorker returns the lowest.
func bestWorker(f *profile.Family, c *cluster.Spec, workers int32) (most float64) {
	for nodes := range int32(len(c.Servers)) {
		most = max(most, f.Throughput(nodes+1, workers)/float64(workers))
	}
	return most
}

func worstWorker(f *profile.Family, c *cluster.Spec, workers int32) float64 {
	least := math.Inf(1)
	for nodes := range max(int32(len(c.Servers)), workers) {
		least = min(least, f.Throughput(nodes+1, workers)/float64(workers))
	}
	return least
}
