package asrpt

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/comm"
)

// Comm is the scheduler's model of communication. The simulated physics may differ from it.
type Comm struct {
	Intra float64 // GB/s of each GPU to the others on its server; the default is that of the built-in scenarios
	NIC   float64 // GB/s of each server; likewise
	// FullNIC gives each stage the whole NIC of a server; false gives it the fraction that belongs to its GPUs. Reconstructed: 45 %
	// for true, 55 % for false.
	FullNIC bool
	// Sum adds up the times of the stages; with false the slowest stage sets the pace. Reconstructed: 20 % for true, 55 % for
	// false.
	Sum bool
}

// DefaultComm returns links of 12.5 GB/s inside servers and 1.25 GB/s between them, NICs divided in proportion to GPUs, and
// pipelines in which the slowest stage sets the pace.
func DefaultComm() Comm { return Comm{Intra: 12.5, NIC: 1.25} }

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

// beliefs computes alphas by Comm and caches them by pattern. Use one for each scheduler.
type beliefs struct {
	Comm
	links         comm.Links
	known         map[pattern]*alphas
	workers, gpus []int32
	mapping       comm.Mapping
}

func newBeliefs(c Comm) *beliefs {
	const giga = 1e9
	b := &beliefs{Comm: c, links: comm.Links{Intra: c.Intra * giga, NIC: c.NIC * giga}, known: map[pattern]*alphas{}}
	if c.FullNIC {
		b.links.NICShare = comm.Full
	}
	return b
}

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
	if b.Sum {
		job.Combine = comm.Sum
	}
	best, err := comm.Best(job, key.on, b.links)
	if err != nil {
		return a // no server can hold a replica, so the job cannot run here
	}
	worst, err := comm.Worst(job, key.on, b.links)
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
	return comm.Alpha(a.job, x, b.links, b.gpus, nil) / a.best
}
