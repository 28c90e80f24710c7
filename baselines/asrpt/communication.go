package asrpt

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/comm"
)

// links are what the scheduler takes those of servers to be: 12.5 GB/s inside a server and 1.25 GB/s between servers, divided
// among stages in proportion to GPUs, as in the built-in scenarios. The simulated physics may differ. In a pipeline the slowest
// stage sets the pace; both are reconstructed: 55 %.
var links = comm.Links{Intra: 12.5e9, NIC: 1.25e9}

// pattern is everything except the placement that a job's communication depends on.
type pattern struct {
	model                   string
	workers, stages, tensor int32
	on                      int32 // number of GPUs of the largest server
}

func patternOf(s *cluster.View, spec *cluster.JobSpec, workers int32) pattern {
	return pattern{spec.Model, workers, max(spec.Stages, 1), spec.Together(), s.MostGPUs()}
}

// alphas contains the modelled times of an iteration for a pattern. If the job sends nothing, best is 0.
type alphas struct {
	job         comm.Job
	best, worst float64 // α_min and α_max, in seconds
}

// stretch returns α_max / α_min: how many times slower the most scattered placement is than the best.
func (a *alphas) stretch() float64 {
	if a.best == 0 {
		return 1
	}
	return a.worst / a.best
}

// beliefs computes alphas and caches them by pattern. Use one for each scheduler.
type beliefs struct {
	known         map[pattern]*alphas
	workers, gpus []int32
	mapping       comm.Mapping
}

func newBeliefs() *beliefs { return &beliefs{known: map[pattern]*alphas{}} }

// of returns the alphas of a job that runs with the given number of workers.
func (b *beliefs) of(s *cluster.View, spec *cluster.JobSpec, workers int32) *alphas {
	key := patternOf(s, spec, workers)
	if a, ok := b.known[key]; ok {
		return a
	}
	a := &alphas{}
	b.known[key] = a
	job, ok := physics.Communication(spec.Model, workers, spec.Stages, spec.Tensor)
	if !ok {
		return a
	}
	best, err := comm.Best(job, key.on, links)
	if err != nil {
		return a // no server can hold a replica, so the job cannot run here
	}
	worst, err := comm.Worst(job, key.on, links)
	if err != nil {
		return a
	}
	*a = alphas{job, best, max(worst, best)}
	return a
}

// slowdown returns α of the placement divided by α_min, both for the number of workers that the placement has.
func (b *beliefs) slowdown(s *cluster.View, spec *cluster.JobSpec, p cluster.Placement) float64 {
	if len(p) == 1 {
		return 1
	}
	a := b.of(s, spec, p.Workers())
	if a.best == 0 {
		return 1
	}
	b.workers, b.gpus = b.workers[:0], b.gpus[:0]
	for i := range p {
		b.workers = append(b.workers, p[i].Workers)
		b.gpus = append(b.gpus, s.Server(p[i].Server).GPUs)
	}
	x, err := comm.Ranks(b.mapping, a.job, b.workers)
	if err != nil {
		panic("asrpt: " + err.Error()) // cannot happen: the transaction allows no such placement
	}
	b.mapping = x
	return comm.Alpha(a.job, x, links, b.gpus, nil) / a.best
}
