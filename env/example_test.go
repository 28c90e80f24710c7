package env_test

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// A long job is ahead of a short one in the queue. The agents start the short one first, if that is among the candidates.
func Example() {
	prior, err := baselines.Reviewed("fifo")
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := env.New(env.Config{
		Sim: sim.Config{Cluster: cluster.Uniform(1, 8)},
		Jobs: func(uint64) ([]trace.Job, error) {
			return []trace.Job{job(0, 8, 5*time.Hour), job(0, 8, time.Hour)}, nil
		},
		Game: game.Config{Review: prior.Config, Rule: prior.Rule},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var ts env.TimeStep
	joint := make([]game.Action, e.Spec().Agents)
	sum := 0.0
	for err = e.Reset(1, &ts); err == nil && !ts.Over(); err = e.Step(joint, &ts) {
		choice := ts.Prior
		for k, c := range ts.List {
			fmt.Printf("%v: %d is to %v\n", ts.Now, k+1, c.Kind)
			if c.Kind == candidates.First {
				choice = game.Action(k + 1)
			}
		}
		ts.Unanimous(choice, joint)
		sum += ts.Reward
	}
	fmt.Println("job-hours:", sum+ts.Reward, err)
	// Output:
	// 0s: 1 is to own
	// 0s: 2 is to stop
	// 0s: 3 is to first
	// job-hours: -7 <nil>
}
