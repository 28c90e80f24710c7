package envtest

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// Toy is a small environment whose optimum is known. Its seeds make no difference. Its prior is fifo. Rewards count seconds of
// jobs in the system, so that sums of rewards are negative sums of completion times.
type Toy struct {
	Name, About string
	Optimum     float64 // the largest sum of rewards of an episode
	Prior       float64 // that of agents who name what the prior would do

	gpus []int // of each server
	jobs []trace.Job
}

// Toys returns the toys, easiest first.
func Toys() []Toy {
	return []Toy{
		{
			// The long job first: 100 + 110 + 120. The short ones first, in any order: 10 + 20 + 120.
			Name: "short-first", About: "a long job stands before two short ones on a server of one GPU: let the short ones first",
			Optimum: -150, Prior: -330,
			gpus: []int{1}, jobs: []trace.Job{job("long", 0, 1, 100), job("short", 0, 1, 10), job("too", 0, 1, 10)},
		},
		{
			// The two long jobs first: 100 + 100 + 110. The gang first, which both servers must name: 10 + 110 + 110. Where only one
			// of them does, nobody starts, and all three jobs wait for five minutes.
			Name: "agree", About: "a short gang over two servers may overtake a long job on each, if both name it",
			Optimum: -230, Prior: -310,
			gpus: []int{1, 1}, jobs: []trace.Job{job("one", 0, 1, 100), job("other", 0, 1, 100), job("gang", 0, 2, 10)},
		},
		{
			// A gang and a small job come at 1 s, when each server has a GPU left. Spread over both the gang runs half as fast, from
			// 1 s to 201 s (time stretches by 1 + 2 (1 - 1/2)), and the small job waits until 10 s: 300 + 10 + 200 + 29. Kept
			// together it runs from 10 s to 110 s on the second server, and the small job at once on the first: 300 + 10 + 109 + 20.
			// To pass keeps the small job waiting too: 300 + 10 + 109 + 29.
			Name: "gather", About: "a gang could start now over two servers, or in a moment on one, where it is twice as fast",
			Optimum: -439, Prior: -539,
			gpus: []int{3, 3},
			jobs: []trace.Job{job("long", 0, 2, 300), job("ends", 0, 2, 10), job("gang", 1, 2, 100), job("small", 1, 1, 20)},
		},
	}
}

// Config makes the environment's configuration, for those who want another reward, encoder or agreement in it.
func (t Toy) Config() (env.Config, error) {
	var spec cluster.Spec
	for _, n := range t.gpus {
		spec.Servers = append(spec.Servers, cluster.Uniform(1, n).Servers...)
	}
	fifo, ok := baselines.Find("fifo")
	if !ok {
		return env.Config{}, fmt.Errorf("toy %s: no baseline fifo", t.Name)
	}
	return env.Config{
		Sim:    sim.Config{Cluster: spec, Physics: physics.Compose(physics.InterServer{Penalty: 2})},
		Jobs:   func(uint64) ([]trace.Job, error) { return t.jobs, nil },
		Game:   game.Config{Review: candidates.Default(fifo.New)},
		Reward: env.Flow{Scale: time.Second},
	}, nil
}

// Make makes the environment.
func (t Toy) Make() (env.Env, error) {
	cfg, err := t.Config()
	if err != nil {
		return nil, err
	}
	return env.New(cfg)
}

func job(name string, submit, workers int, seconds time.Duration) trace.Job {
	return trace.Job{
		JobSpec: cluster.JobSpec{
			Name: name, Submit: time.Duration(submit) * time.Second, Workers: int32(workers),
			Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: seconds * time.Second,
		},
		Work: seconds * time.Second,
	}
}
