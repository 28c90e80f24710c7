package env_test

import (
	"math"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/must"
)

// TestObjectiveIsTheReward plays an episode under every objective of the library. The rewards must sum to minus the cost of the
// event log, played again, and the agents' rewards to the reward of all.
func TestObjectiveIsTheReward(t *testing.T) {
	for _, name := range objectives.Names() {
		t.Run(name, func(t *testing.T) {
			o := must.Get(objectives.Open(name))(t)
			e := small(t, func(c *env.Config) {
				c.Objective, c.Sim.Cluster = o, cluster.Uniform(2, 2)
				c.Sim.Restart = sim.Pause(time.Minute)
				var jobs []trace.Job
				for i := range 12 {
					j := job(time.Duration(i)*7*time.Minute, int32(1+i%4), time.Duration(1+i*i%7)*20*time.Minute)
					j.Tenant = []string{"a", "b"}[i%2]
					jobs = append(jobs, j)
				}
				these(c, jobs...)
				c.Reward = nil
			})
			var ts env.TimeStep
			must.Do(t, e.Reset(1, &ts))
			sum := ts.Reward
			for !ts.Over() {
				joint := make([]game.Action, e.Spec().Agents)
				for i := range joint { // now and then another candidate than the prior's
					if k := game.Action(1 + (len(e.Log().Records)+i)%len(ts.List)); ts.Legal(i)[k] {
						joint[i] = k
					}
				}
				must.Do(t, e.Step(joint, &ts))
				sum += ts.Reward
				own := 0.0
				for _, x := range ts.Rewards {
					own += x
				}
				if math.Abs(own-ts.Reward) > 1e-9*max(math.Abs(own), 1) {
					t.Fatalf("agents are given %v in all, want %v", own, ts.Reward)
				}
			}
			want := must.Get(eval.Replay(e.Log(), o))(t)
			if got := want.Total(); math.Abs(got+sum) > 1e-9*max(got, 1) || got == 0 && name != "deadlines" && name != "gangs" {
				t.Errorf("rewards sum to %v, the log costs %v", sum, got)
			}
		})
	}
}
