package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/sim"
)

// rollout is one episode under the sampled policy.
type rollout struct {
	samples []learn.Sample
	steps   []step // of the samples
	curve   *curve
	kinds   [candidates.Kinds]int // candidates taken
}

// step is a decision, and what the prior would have cost from it on.
type step struct {
	at    time.Duration
	value float64 // discounted job-hours
}

// goal is what is learned: to be paid more, with what comes later discounted.
type goal struct {
	reward env.Reward
	memory time.Duration // time constant of the discount
}

// player plays an episode of a vector and looks at what it might have been.
type player struct {
	goal
	policy *agents.Policy
	team   *agents.Player
	label  float64       // part of the decisions that are labelled; below 0 every decision is judged by the prior alone
	until  time.Duration // how far what a candidate leads to is played
	draw   *rand.Rand
	env    *env.Cluster
	fork   sim.Sim
	prior  *candidates.Guard
	out    *rollout
}

// newPlayer returns a player before the episode, which samples. With label of 0 or more that part of its decisions is recorded,
// each with what its candidates would save; else all are, each with what the prior would cost from there.
func newPlayer(p *agents.Policy, episode sim.Episode, goal goal, label float64, draw *rand.Rand) (*player, error) {
	out := &rollout{curve: newCurve(goal.reward, goal.memory)}
	e, err := env.New(env.Config{
		Sim: episode.Config, Episode: func(uint64) (sim.Episode, error) { return episode, nil }, Game: p.Game(), Reward: out.curve,
	})
	if err != nil {
		return nil, err
	}
	g := &player{
		goal: goal, policy: p, team: agents.NewPlayer(p), label: label, until: math.MaxInt64, draw: draw, env: e, prior: p.PlayOn(),
		out: out,
	}
	if label >= 0 {
		g.until = horizon(goal.memory)
	}
	g.team.Explore(draw, func(_ *cluster.Txn, c *agents.Choice) error { return g.see(c) })
	return g, nil
}

// playAll plays the episodes of all players, side by side, until ctx ends. Each goes on at its own pace, because a decision that
// is labelled takes as long as hundreds of others. ended is told of each.
func playAll(ctx context.Context, players []*player, workers int, ended func(i int, out *rollout) error) error {
	if len(players) == 0 {
		return nil
	}
	envs := make([]env.Env, len(players))
	for i, g := range players {
		envs[i] = g.env
	}
	v, err := env.NewVector(envs, env.Disabled, workers)
	if err != nil {
		return err
	}
	act := func(i int, ts *env.TimeStep, joint []game.Action) error {
		if err := players[i].act(ctx, ts, joint); err != nil || !ts.Over() {
			return err
		}
		return ended(i, players[i].out)
	}
	return errors.Join(v.Play(make([]uint64, len(envs)), make([]env.TimeStep, len(envs)), act), v.Close())
}

// act chooses at a time step, and closes the rollout at the last.
func (g *player) act(ctx context.Context, ts *env.TimeStep, joint []game.Action) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !ts.Over():
		return g.team.Act(g.env.Txn(), &ts.Round, joint)
	case !ts.Terminated:
		return cutOff(sim.Outcome{Truncated: ts.Truncated})
	}
	g.out.curve.closed()
	return nil
}

// see counts a choice, and keeps it if it is to be learned from.
func (g *player) see(c *agents.Choice) error {
	g.out.kinds[c.List[c.Action].Kind]++
	if g.label >= 0 && g.draw.Float64() >= g.label {
		return nil
	}
	return g.record(c)
}

// record keeps a choice and judges it, or all of its candidates.
func (g *player) record(c *agents.Choice) error {
	value, err := g.cost(&c.List[0])
	if err != nil {
		return err
	}
	o := c.Observation.Clone()
	s := learn.Sample{Observation: &o, Prior: slices.Clone(c.Prior), Action: c.Action, LogProb: c.LogProb}
	if g.label < 0 && g.policy.Shape.Graph != agents.GraphNone {
		s.Adjacent = make([]float32, o.Servers*o.Servers)
		c.Adjacent(s.Adjacent)
	}
	if g.label >= 0 {
		s.Saved = make([]float64, len(c.List))
		for i := 1; i < len(c.List); i++ {
			cost, err := g.cost(&c.List[i])
			if err != nil {
				return err
			}
			s.Saved[i] = value - cost
		}
	}
	g.out.samples = append(g.out.samples, s)
	g.out.steps = append(g.out.steps, step{g.env.Txn().Now(), value})
	return nil
}

// cost is what the episode would cost from here on with a candidate and the prior after it, in discounted job-hours.
func (g *player) cost(o *candidates.Candidate) (float64, error) {
	g.env.Fork(&g.fork)
	if err := o.Apply(g.fork.State().Txn()); err != nil {
		return 0, err
	}
	g.prior.Commit(o)
	return g.costOf(&g.fork, g.prior, g.until)
}

// costOf plays a fork on, to its end or until so much later, and returns what it costs from now on, discounted.
func (g goal) costOf(fork *sim.Sim, prior cluster.Scheduler, until time.Duration) (float64, error) {
	start, cost, enough := fork.State().Now(), 0.0, false
	fork.Watch(func(from, to time.Duration) {
		rate := -g.reward.Score(&fork.State().View, from, to) / (to - from).Hours()
		cost += rate * g.memory.Hours() * (fade(from-start, g.memory) - fade(to-start, g.memory))
	})
	err := fork.Continue(prior, 0, func(_, to time.Duration, _ int) bool {
		enough = to-start >= until
		return !enough
	})
	if o := fork.Outcome(); err == nil && !enough && !o.Terminated {
		err = cutOff(o)
	}
	return cost, err
}

// cutOff is the error of an episode that did not play to its end.
func cutOff(o sim.Outcome) error {
	return fmt.Errorf("play episode: cut off (%s), and training needs whole episodes", o.Truncated)
}

func fade(d, memory time.Duration) float64 { return math.Exp(-float64(d) / float64(memory)) }

// follow runs an episode under a scheduler.
func (g goal) follow(s cluster.Scheduler, episode sim.Episode) (*curve, error) {
	run, err := episode.New()
	if err != nil {
		return nil, err
	}
	c := newCurve(g.reward, g.memory)
	c.watch(run)
	if err := run.Run(context.Background(), s, 0); err != nil {
		return nil, err
	}
	if o := run.Outcome(); !o.Terminated {
		return nil, cutOff(o)
	}
	return c.closed(), nil
}

// judge gives every sample its advantage: generalized advantage estimation (Schulman et al., 2016) with the prior's exact
// cost as the value. That depends on the state and on the arrivals to come, not on the choice, so it adds no bias (Mao et al.,
// ICLR 2019, on input-driven environments), and it leaves little variance: a decision is compared with what the prior would
// have made of the same state and the same future.
func (r *rollout) judge(memory, credit time.Duration) {
	next, value, end := 0.0, 0.0, time.Duration(0)
	for i := len(r.steps) - 1; i >= 0; i-- {
		s := r.steps[i]
		cost, keep, gain := r.curve.from(s.at), 0.0, 0.0
		if i < len(r.steps)-1 {
			keep = fade(end-s.at, memory)
			cost -= keep * r.curve.from(end)
			gain = keep * fade(end-s.at, credit) * next
		}
		gain += s.value - cost - keep*value
		r.samples[i].Gain = gain
		next, value, end = gain, s.value, s.at
	}
}
