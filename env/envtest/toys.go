package envtest

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// Toy is a small environment whose optimum is known. It is the same for every seed. Its prior is fifo. Its reward is minus the
// number of seconds that jobs spend in the system, so that the return is minus the sum of completion times.
type Toy struct {
	Name, About string
	Optimum     float64 // the highest possible return
	Prior       float64 // the return of agents who follow the prior

	gpus []int // by server
	jobs []trace.Job
}

// Toys returns the toys, the easiest first.
func Toys() []Toy {
	return []Toy{
		{
			// The long job first: 100 + 110 + 120. The short jobs first, in any order: 10 + 20 + 120.
			Name: "short-first", About: "a long job stands before two short ones on a server of one GPU: let the short ones first",
			Optimum: -150, Prior: -330,
			gpus: []int{1}, jobs: []trace.Job{job("long", 0, 1, 100), job("short", 0, 1, 10), job("too", 0, 1, 10)},
		},
		{
			// The two long jobs first: 100 + 100 + 110. The gang first, which both servers must name: 10 + 110 + 110. If only one
			// server names it, no job starts, and all three wait for five minutes.
			Name: "agree", About: "a short gang over two servers may overtake a long job on each, if both name it",
			Optimum: -230, Prior: -310,
			gpus: []int{1, 1}, jobs: []trace.Job{job("one", 0, 1, 100), job("other", 0, 1, 100), job("gang", 0, 2, 10)},
		},
		{
			// A gang and a small job arrive at 1 s, when each server has one free GPU. If the gang starts on both servers, it
			// runs at half speed, from 1 s to 201 s (its time is multiplied by 1 + 2 * (1 - 1/2)), and the small job waits until
			// 10 s: 300 + 10 + 200 + 29. If the gang waits for one server, it runs from 10 s to 110 s on the second server, and
			// the small job starts at once on the first: 300 + 10 + 109 + 20. If the agents pass, the small job waits, too: 300 +
			// 10 + 109 + 29.
			Name: "gather", About: "a gang could start now over two servers, or in a moment on one, where it is twice as fast",
			Optimum: -439, Prior: -539,
			gpus: []int{3, 3},
			jobs: []trace.Job{job("long", 0, 2, 300), job("ends", 0, 2, 10), job("gang", 1, 2, 100), job("small", 1, 1, 20)},
		},
	}
}

// Config returns the environment's configuration, for callers that want to change its reward, encoder or agreement.
func (t Toy) Config() (env.Config, error) {
	var spec cluster.Spec
	for _, n := range t.gpus {
		spec.Servers = append(spec.Servers, cluster.Uniform(1, n).Servers...)
	}
	return env.Config{
		Sim:    sim.Config{Cluster: spec, Physics: physics.Compose(physics.InterServer{Penalty: 2})},
		Jobs:   func(uint64) ([]trace.Job, error) { return t.jobs, nil },
		Game:   game.Config{Review: candidates.Default(func() cluster.Scheduler { return fifo{} })},
		Reward: env.Flow{Scale: time.Second},
	}, nil
}

// Make returns a fresh environment.
func (t Toy) Make() (env.Env, error) {
	cfg, err := t.Config()
	if err != nil {
		return nil, err
	}
	return env.New(cfg)
}

// fifo starts jobs in the order of their submission; a job that does not fit blocks the queue. It is the prior of the toys.
type fifo struct{}

// Name implements cluster.Scheduler.
func (fifo) Name() string { return "fifo" }

// Reset implements cluster.Scheduler.
func (fifo) Reset(uint64) error { return nil }

// Schedule implements cluster.Scheduler.
func (fifo) Schedule(tx *cluster.Txn) error {
	for _, id := range slices.Sorted(slices.Values(tx.View().Pending())) {
		p, fits := tx.View().BestFit(id, nil)
		if !fits {
			return nil
		}
		if err := tx.Place(id, p); err != nil {
			return err
		}
	}
	return nil
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
