package sim_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// speedCap bounds a job's speed by what it holds and by the most that each part of the physics can give it: sharing, servers
// and the network only slow it down.
func speedCap(m physics.Model, spec *cluster.JobSpec, p cluster.Placement, c *cluster.Spec) float64 {
	name, f := m.Name(), profile.Lookup(spec.Model)
	most := float64(p.GPUMilli()) / (float64(spec.Workers) * float64(spec.Request.GPUMilli))
	if strings.Contains(name, "sharing(") {
		most = float64(p.Workers()) / float64(spec.Workers)
	}
	for part := range strings.SplitSeq(name, " * ") {
		kind, _, _ := strings.Cut(part, "(")
		number := 0.0 // where there is none
		fmt.Sscanf(part[min(len(part), len(kind)+1):], "%g", &number)
		switch {
		case kind == "jitter":
			most *= math.Exp(2 * number)
		case kind == "diminishing":
			most *= 1 / number // where the gang asked for has that from each worker and the one that runs all of each
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

// bestWorker is the most that a worker of a gang can do, on however many servers; worstWorker the least.
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
