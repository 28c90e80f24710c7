package env_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// reviewed returns a game that reviews a baseline, with a window of four jobs.
func reviewed(t testing.TB, prior string) game.Config {
	t.Helper()
	r := must.Get(all.Table().Reviewed(prior))(t)
	return game.Config{Review: r.Config, Rule: r.Rule, Encoder: &observe.Standard{Window: 4}}
}

// small returns an environment with 3 servers of 2 GPUs and a few jobs that depend on the seed, with fifo as prior.
func small(t testing.TB, change func(*env.Config)) *env.Cluster {
	t.Helper()
	cfg := env.Config{Sim: sim.Config{Cluster: cluster.Uniform(3, 2)}, Jobs: fewJobs, Game: reviewed(t, "fifo")}
	if change != nil {
		change(&cfg)
	}
	return must.Get(env.New(cfg))(t)
}

func fewJobs(seed uint64) ([]trace.Job, error) {
	draw := rand.New(rand.NewPCG(seed, 1))
	jobs := make([]trace.Job, 12)
	for i := range jobs {
		jobs[i] = job(time.Duration(draw.IntN(60))*time.Second, int32(1+draw.IntN(4)), time.Duration(1+draw.IntN(90))*time.Second)
	}
	return jobs, nil
}

func job(submit time.Duration, workers int32, work time.Duration) trace.Job {
	return trace.Job{Work: work, JobSpec: cluster.JobSpec{
		Submit: submit, Workers: workers, Estimate: work, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}}
}

// these sets a workload that does not depend on the seed, and a reward in seconds.
func these(c *env.Config, jobs ...trace.Job) {
	c.Jobs = func(uint64) ([]trace.Job, error) { return jobs, nil }
	c.Reward = env.Flow{Scale: time.Second}
}

// act has the whole coalition of one candidate name it, and in some rounds lets one agent name something else.
func act(ts *env.TimeStep, salt int, joint []game.Action) {
	ts.Unanimous(game.Action(1+salt%max(len(ts.List), 1)), joint)
	if i := salt % len(joint); salt%5 == 0 {
		for n, legal := range ts.Legal(i) {
			if legal {
				joint[i] = game.Action(n)
			}
		}
	}
}

// play plays an episode to its end. It returns the sum of rewards and the number of rounds.
func play(t testing.TB, e env.Env, seed uint64, choose func(*env.TimeStep, []game.Action)) (sum float64, rounds int) {
	t.Helper()
	var ts env.TimeStep
	must.Do(t, e.Reset(seed, &ts))
	joint := make([]game.Action, e.Spec().Agents)
	for sum = ts.Reward; !ts.Over(); rounds++ {
		choose(&ts, joint)
		must.Do(t, e.Step(joint, &ts))
		sum += ts.Reward
	}
	return sum, rounds
}

// byPrior follows the prior.
func byPrior(ts *env.TimeStep, joint []game.Action) { ts.Unanimous(ts.Prior, joint) }

// pass makes all agents pass.
func pass(_ *env.TimeStep, joint []game.Action) { clear(joint) }
