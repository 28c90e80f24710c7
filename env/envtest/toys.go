package envtest

import (
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// Toy is a small environment whose optimum is known. Its seeds make no difference. Rewards count seconds of jobs in the
// system, so the optimum is the negative least sum of completion times.
type Toy struct {
	Name, About string
	Make        Make
	Optimum     float64 // the largest sum of rewards of an episode
}

// Toys returns the toys, easiest first.
func Toys() []Toy {
	return []Toy{
		{
			// A job alone on a server takes its 60 s, and no schedule is faster: -(60 + 60). With the single worker on the
			// server of two, the pair is split and takes 90 s.
			Name: "packing", About: "a single worker and a pair, on a server of one GPU and a server of two: keep the pair together",
			Optimum: -120,
			Make:    toy([]int{2, 1}, job("single", 0, 1, 60), job("pair", 0, 2, 60)),
		},
		{
			// The pair wins when it is alone: either server alone (60 s), not in two pieces (90 s). Whoever claims the early
			// single worker together with others, the roomiest server gets it, so that one must hold back: -(60 + 60).
			Name: "claimants", About: "three servers may claim one worker, but the one of two GPUs is needed for a later pair",
			Optimum: -120,
			Make:    toy([]int{2, 1, 1}, job("single", 0, 1, 60), job("pair", 10, 2, 60)),
		},
		{
			// With the first job on one GPU for 2 s, filling the other with the long job makes the gang wait for its 100 s:
			// 2 + 101 + 121. Waiting: the gang ends at 22, the long job at 122, and both came at 1: -(2 + 21 + 121).
			Name: "gang", About: "one GPU is free for a long job, but a gang of both GPUs waits too: leave it idle for a second",
			Optimum: -144,
			Make:    toy([]int{1, 1}, job("first", 0, 1, 2), job("long", 1, 1, 100), job("gang", 1, 2, 20)),
		},
	}
}

// toy makes environments with servers of so many GPUs, on which a job split over n servers where m would do runs slower.
func toy(gpus []int, jobs ...trace.Job) Make {
	return func() (env.Env, error) {
		var spec cluster.Spec
		for _, n := range gpus {
			spec.Servers = append(spec.Servers, cluster.Uniform(1, n).Servers...)
		}
		return env.New(env.Config{
			Sim:     sim.Config{Cluster: spec, Physics: physics.Compose(physics.InterServer{Penalty: 1})},
			Jobs:    func(uint64) ([]trace.Job, error) { return jobs, nil },
			Encoder: &env.StandardEncoder{Window: 3}, Reward: env.Flow{Scale: time.Second},
			Patience: 50 * time.Second, SkipForced: true,
		})
	}
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
