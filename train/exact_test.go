package train

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// exact is a prior with a workload on which a fork costs exactly what the episode does, if the same is decided in both.
type exact struct {
	prior string
	rules sim.Config
	jobs  func(n int, seed uint64) []trace.Job
	seeds uint64
}

// exacts returns priors that are told all, and priors that are told nothing and learn while they play, also in a fork.
func exacts() (all []exact) {
	told := sim.Config{Cluster: cluster.Uniform(4, 4), Physics: physics.Compose(physics.InterServer{Penalty: 0.5})}
	for _, prior := range plain {
		all = append(all, exact{prior, told, mixed, 3})
	}
	untold := sim.Config{
		Cluster: cluster.Uniform(4, 4), Hidden: sim.Hidden{Speeds: true},
		Physics:  physics.Compose(physics.CPUMem{}, physics.InterServer{Penalty: 0.5}),
		Readings: sim.Readings{Interval: 2 * time.Minute, Noise: 0.1},
	}
	for i := range untold.Cluster.Servers {
		s := &untold.Cluster.Servers[i]
		s.CPUMilli, s.MemMiB = 16000, 128<<10
	}
	for _, prior := range []string{
		"srsf+know", "srsf+know:time=history:speed=fit", "srsf+menu+move", "srsf:evict=true+menu:idle=true+move+know:speed=fit",
	} {
		all = append(all, exact{prior, untold, hungry, 1})
	}
	return all
}

// hungry returns mixed jobs of several users, whose models need CPU.
func hungry(n int, seed uint64) []trace.Job {
	jobs := mixed(n, seed)
	for i := range jobs {
		j := &jobs[i]
		j.Tenant, j.Model = fmt.Sprint("user ", i%7), []string{"resnet50", "bert"}[i%2]
		j.Request.CPUMilli, j.Request.MemMiB = 3000, 16<<10
	}
	return jobs
}
