package env_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
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

// TestObjectiveMakesDecisionPoints checks that agents are asked when the wait of a job begins to cost, though nothing happens then,
// and that otherwise the decision points are those without an objective.
func TestObjectiveMakesDecisionPoints(t *testing.T) {
	asked := func(o *objectives.Objective) (at []time.Duration) {
		e := small(t, func(c *env.Config) {
			prior := must.Get(baselines.Parse("fifo"))(t)
			c.Sim.Cluster, c.Game = cluster.Uniform(1, 2), game.Config{Review: must.Get(prior.Wide(8))(t)}
			these(c, job(0, 1, time.Hour), job(time.Minute, 2, 2*time.Hour), job(time.Minute, 1, 3*time.Hour))
			if c.Objective = o; o != nil {
				c.Reward = nil
			}
		})
		play(t, e, 1, func(ts *env.TimeStep, joint []game.Action) {
			if len(at) == 0 || at[len(at)-1] != ts.Now {
				at = append(at, ts.Now)
			}
			byPrior(ts, joint)
		})
		return at
	}
	before := asked(nil)
	if after := asked(must.Get(objectives.Open("completion"))(t)); !slices.Equal(before, after) {
		t.Errorf("asked at %v by completion, without an objective at %v", after, before)
	}
	limit := must.Get(objectives.Read(strings.NewReader("name: m\nterms: [{cost: wait, over: 10m, price: 1/min}]")))(t)
	if after := asked(limit); slices.Contains(before, 11*time.Minute) || !slices.Contains(after, 11*time.Minute) {
		t.Errorf("asked at %v, without an objective at %v: want also 10 min after one began to wait", after, before)
	}
}

// TestPriorPlaysAloneByObjective checks that agents who follow the prior get what the prior alone does, asked at the same instants.
func TestPriorPlaysAloneByObjective(t *testing.T) {
	o := must.Get(objectives.Read(strings.NewReader("name: m\nterms: [{cost: wait, over: 30s, price: 1/min}]")))(t)
	for _, prior := range []string{"las", "srtf+menu", "index:objective=deadlines"} {
		e := small(t, func(c *env.Config) { c.Objective, c.Game = o, reviewed(t, prior) })
		for seed := range uint64(5) {
			play(t, e, seed, byPrior)
			got, alone := written(t, e.Log()), must.Get(e.Alone(t.Context(), seed))(t)
			if want := written(t, alone); got != want {
				t.Errorf("%s, seed %d: by its prior the team plays\n%s\nalone the prior plays\n%s", prior, seed, got, want)
			}
		}
	}
}
