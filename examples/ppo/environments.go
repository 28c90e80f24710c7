package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

const arrivals = 40 // number of jobs in an episode of the small cluster

// task is an environment with the settings for learning in it.
type task struct {
	config  env.Config
	options options
	test    []uint64 // seeds of the episodes on which policies are compared
	optimum float64  // the best possible return on these; 0 if unknown
}

// find returns the task of a name: a toy, agree-4 or small.
func find(name string, agree game.Agreement) (t task, err error) {
	toys := envtest.Toys()
	i := slices.IndexFunc(toys, func(t envtest.Toy) bool { return t.Name == name })
	switch {
	case i >= 0:
		t, err = toy(&toys[i])
	case name == "agree-4":
		t, err = wider(&toys[slices.IndexFunc(toys, func(t envtest.Toy) bool { return t.Name == "agree" })])
	case name == "small":
		t, err = small()
	default:
		err = fmt.Errorf("environment %q, want short-first, agree, agree-4, gather or small", name)
	}
	t.config.Game.Agree = agree
	return t, err
}

// toy returns the task of a toy, which has only one episode, whatever the seed.
func toy(of *envtest.Toy) (task, error) {
	cfg, err := of.Config()
	return task{
		config: cfg, test: []uint64{1}, optimum: of.Optimum,
		options: options{episodes: 16, batch: 64, rate: 3e-3, entropy: 0.01, memory: time.Hour},
	}, err
}

// wider returns the toy agree on four servers. The optimum starts the gang first and has the return -(10 + 4 x 110). The prior
// (the base policy whose decisions the agents review) has -(4 x 100 + 110).
//
// Servers that choose for themselves rarely all name the gang by chance. If the choice of the lead server suffices unless
// another server contradicts, all of the seeds 1 to 10 find the optimum. If each server must name the gang, five of them do; the
// others learn never to name it, with the same return as the prior.
func wider(agree *envtest.Toy) (task, error) {
	t, err := toy(agree)
	t.config.Sim.Cluster, t.optimum = cluster.Uniform(4, 1), -450
	t.config.Jobs = func(uint64) ([]trace.Job, error) {
		long, gang := job(0, 1, 100*time.Second), job(0, 4, 10*time.Second)
		return []trace.Job{long, long, long, long, gang}, nil
	}
	return t, err
}

// small returns the task on a cluster of 4 servers of 4 GPUs. Its test episodes are not among the training episodes.
func small() (task, error) {
	review, err := baselines.Reviewed("fifo")
	if err != nil {
		return task{}, err
	}
	t := task{
		config: env.Config{
			Sim: sim.Config{Cluster: cluster.Uniform(4, 4)}, Jobs: drawJobs, Game: game.Config{Review: candidates.Default(review.Base)},
		},
		options: options{episodes: 8, batch: 256, rate: 1e-3, entropy: 0.005, memory: 2 * time.Hour},
	}
	for i := range uint64(16) {
		t.test = append(t.test, 1_000_000+i)
	}
	return t, nil
}

// drawJobs draws the jobs of an episode of the small cluster. Most are short and narrow, but under fifo a wide one blocks them.
func drawJobs(seed uint64) ([]trace.Job, error) {
	draw := rand.New(rand.NewPCG(seed, 1))
	jobs := make([]trace.Job, arrivals)
	at := 0.0
	for i := range jobs {
		at += 90 * draw.ExpFloat64()
		work := time.Duration(1+math.Exp(6+1.2*draw.NormFloat64())) * time.Second
		jobs[i] = job(time.Duration(at)*time.Second, []int32{1, 1, 2, 2, 4, 8}[draw.IntN(6)], work)
	}
	return jobs, nil
}

func job(submit time.Duration, workers int32, work time.Duration) trace.Job {
	return trace.Job{Work: work, JobSpec: cluster.JobSpec{
		Submit: submit, Workers: workers, Estimate: work, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}}
}

// byPrior returns the mean return of agents that always name what the prior would do.
func byPrior(e env.Env, seeds []uint64) (float64, error) {
	var ts env.TimeStep
	joint := make([]game.Action, e.Spec().Agents)
	sum := 0.0
	for _, seed := range seeds {
		if err := e.Reset(seed, &ts); err != nil {
			return 0, err
		}
		sum += ts.Reward
		for !ts.Over() {
			ts.Unanimous(ts.Prior, joint)
			if err := e.Step(joint, &ts); err != nil {
				return 0, err
			}
			sum += ts.Reward
		}
	}
	return sum / float64(len(seeds)), nil
}
