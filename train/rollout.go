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

// rollout is one episode played with the sampled policy.
type rollout struct {
	samples []learn.Sample
	steps   []step    // one for each sample
	rates   []float64 // cost per hour at each step; only with a learned critic
	curve   *curve
	kinds   [candidates.Kinds]int // number of candidates taken, by kind
	tailed  bool                  // whether steps of draws know what was saved; see ends
	proposals
}

// step is a decision and the cost of letting the prior play on from it.
type step struct {
	at    time.Duration
	value float64 // discounted, or a learned critic's estimate of the team's cost; 0 if saved is known
	saved float64 // with rollout.tailed: what the candidate taken saves, as in its label
}

// player plays one episode, as part of a vector of environments, and simulates what its decisions lead to.
type player struct {
	goal
	policy *agents.Policy
	team   *agents.Player
	label  float64 // fraction of decisions to label; negative: see newPlayer
	// learned is set if a learned critic values the decisions: the player then simulates none of them, and leaves the values at 0.
	learned bool
	pairs   float64       // fraction of those that are also labelled after another candidate
	until   time.Duration // how long after a decision its consequences are simulated
	tail    bool          // what they cost is not discounted, and ends in an estimate of the backlog
	draw    *rand.Rand
	env     *env.Cluster
	fork    sim.Sim
	forked  costing // of the fork
	prior   *candidates.Guard
	play    cluster.Scheduler // prior, by what the game believes
	out     *rollout
}

// newPlayer returns a player, before its episode, that samples its actions at a temperature of 1. If label is 0 or more, the
// player records that fraction of its decisions, each with what its candidates would save. If label is negative, it records all
// decisions, each with the cost of letting the prior play on.
func newPlayer(p *agents.Policy, episode sim.Episode, goal goal, label float64, draw *rand.Rand) (*player, error) {
	out, cfg := &rollout{curve: newCurve(goal, &episode), proposals: newProposals(p.Wide.Rivals)}, p.Game()
	e, err := env.New(env.Config{
		Sim: episode.Config, Episode: func(uint64) (sim.Episode, error) { return episode, nil }, Game: cfg, Reward: out.curve,
	})
	if err != nil {
		return nil, err
	}
	g := &player{
		goal: goal, policy: p, team: agents.NewPlayer(p), label: label, until: math.MaxInt64, draw: draw, env: e, out: out,
	}
	g.play, g.prior = p.PlayOn(cfg.Beliefs)
	if label >= 0 {
		g.until = horizon(goal.memory)
	}
	g.team.Explore(draw, 1)
	g.team.Record(func(_ *cluster.Txn, c *agents.Choice) error { return g.see(c) })
	return g, nil
}

// playAll plays the episodes of all players concurrently until ctx ends. Each episode advances at its own pace, because a
// labelled decision takes as long as hundreds of others. playAll calls ended for each finished episode.
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

// act chooses the agents' actions at a time step. After the last step it closes the rollout's cost curve.
func (g *player) act(ctx context.Context, ts *env.TimeStep, joint []game.Action) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !ts.Over():
		return g.team.Act(g.env.Txn(), &ts.Round, joint)
	case !ts.Terminated:
		return cutOff(sim.Outcome{Truncated: ts.Truncated})
	}
	g.out.curve.ended(ts.Cluster)
	return nil
}

// see counts a choice and records it. With labels it records only the fraction g.label of the choices, drawn at random.
func (g *player) see(c *agents.Choice) error {
	g.out.kinds[c.List[c.Action].Kind]++
	g.out.see(c)
	if g.label >= 0 && g.draw.Float64() >= g.label {
		return nil
	}
	return g.record(c)
}

// record stores a choice with the cost of the prior and, for labels, with what each candidate saves.
func (g *player) record(c *agents.Choice) error {
	var value, saved float64
	var err error
	switch {
	case g.learned:
		g.out.curve.copyTo(&g.forked)
		g.out.rates = append(g.out.rates, g.forked.rate(g.env.Txn().View()))
	case g.out.tailed:
		saved, err = g.saves(c)
	case g.label >= 0:
		value, err = g.cost(&c.List[0])
	default:
		value, err = g.cost(&c.List[c.Usual])
	}
	if err != nil {
		return err
	}
	o := c.Observation.Clone()
	s := learn.Sample{Observation: &o, Prior: slices.Clone(c.Prior), Action: c.Action, LogProb: c.LogProb}
	if slices.Contains(c.Gone, true) {
		s.Gone = slices.Clone(c.Gone)
	}
	if shape := &g.policy.Shape; g.label < 0 && shape.Graph != agents.GraphNone {
		nodes := shape.Nodes(&o)
		s.Adjacent = make([]float32, nodes*nodes)
		c.Adjacent(s.Adjacent)
	}
	if g.label >= 0 {
		if err := g.save(&s, c.List, value); err != nil {
			return err
		}
	}
	g.out.samples = append(g.out.samples, s)
	g.out.steps = append(g.out.steps, step{g.env.Txn().Now(), value, saved})
	if g.label >= 0 && g.policy.Shape.Joint && g.draw.Float64() < g.pairs {
		return g.recordAfter(c, &s)
	}
	return nil
}

// saves returns what the candidate taken saves over what the prior chooses.
func (g *player) saves(c *agents.Choice) (float64, error) {
	if c.Action == c.Usual {
		return 0, nil
	}
	own, err := g.cost(&c.List[c.Usual])
	if err != nil {
		return 0, err
	}
	cost, err := g.cost(&c.List[c.Action])
	return own - cost, err
}

// save sets what each candidate saves over the first, which costs value.
func (g *player) save(s *learn.Sample, list []candidates.Candidate, value float64, before ...*candidates.Candidate) error {
	s.Saved = make([]float64, len(list))
	for i := 1; i < len(list); i++ {
		if s.Gone != nil && s.Gone[i] {
			continue
		}
		cost, err := g.cost(append(before, &list[i])...)
		switch {
		case len(before) > 0 && errors.Is(err, cluster.ErrInfeasible):
			s.Gone[i] = true
		case err != nil:
			return err
		default:
			s.Saved[i] = value - cost
		}
	}
	return nil
}

// recordAfter stores a second sample about a labelled choice: what each candidate saves after another was carried out, which it
// draws among those that do something and leave no commitment.
func (g *player) recordAfter(c *agents.Choice, s *learn.Sample) error {
	var able []int
	for i := range c.List {
		if i == 0 || c.Gone[i] || len(c.List[i].Ops) == 0 {
			continue
		}
		switch c.List[i].Kind {
		case candidates.Reserve, candidates.Gather, candidates.Drop:
		default:
			able = append(able, i)
		}
	}
	if len(able) < 2 {
		return nil
	}
	first := able[g.draw.IntN(len(able))]
	value, err := g.cost(&c.List[first])
	if err != nil {
		return err
	}
	o := s.Observation.Clone()
	o.Taken = append(o.Taken, int32(first))
	after := learn.Sample{Observation: &o, Prior: slices.Clone(s.Prior), Gone: slices.Clone(c.Gone)}
	after.Gone[first] = true
	if err := g.save(&after, c.List, value, &c.List[first]); err != nil {
		return err
	}
	g.out.samples = append(g.out.samples, after)
	g.out.steps = append(g.out.steps, step{at: g.env.Txn().Now(), value: value})
	return nil
}

// cost returns the cost from now on if the candidates are carried out, one after another, and the prior plays on
// after them. It is discounted, or ends in an estimate of the backlog.
func (g *player) cost(list ...*candidates.Candidate) (float64, error) {
	g.env.Fork(&g.fork)
	g.out.curve.copyTo(&g.forked)
	for _, o := range list {
		if err := g.prior.Take(g.fork.State().Txn(), o); err != nil {
			return 0, err
		}
	}
	if g.tail {
		return g.forked.costInFull(&g.fork, g.play, g.until)
	}
	return g.forked.costOf(&g.fork, g.play, g.until, g.memory)
}

// costOf plays a fork to its end, or for the time until, and returns the discounted cost from now on.
func (b *costing) costOf(fork *sim.Sim, prior cluster.Scheduler, until, memory time.Duration) (float64, error) {
	start, cost, enough := fork.State().Now(), 0.0, false
	fork.Watch(func(from, to time.Duration) {
		rate := b.pass(&fork.State().View, from, to) / (to - from).Hours()
		cost += rate * memory.Hours() * (fade(from-start, memory) - fade(to-start, memory))
	})
	err := fork.Continue(prior, 0, func(_, to time.Duration, _ int) bool {
		enough = to-start >= until
		return !enough
	})
	if o := fork.Outcome(); err == nil && !enough && !o.Terminated {
		err = cutOff(o)
	}
	v := &fork.State().View
	return cost + b.rest(v)*fade(v.Now()-start, memory), err
}

// cutOff returns the error for a truncated episode.
func cutOff(o sim.Outcome) error {
	return fmt.Errorf("play episode: cut off (%s), and training needs whole episodes", o.Truncated)
}

func fade(d, memory time.Duration) float64 { return math.Exp(-float64(d) / float64(memory)) }

// follow plays an episode with a scheduler and returns its cost curve.
func (g goal) follow(s cluster.Scheduler, episode sim.Episode) (*curve, error) {
	run, err := episode.New()
	if err != nil {
		return nil, err
	}
	c := newCurve(g, &episode)
	c.watch(run)
	if err := run.Run(context.Background(), s, 0); err != nil {
		return nil, err
	}
	if o := run.Outcome(); !o.Terminated {
		return nil, cutOff(o)
	}
	return c.ended(&run.State().View), nil
}

// judge sets every sample's advantage by generalised advantage estimation (Schulman et al., 2016). The value of a step is the
// exact cost of the prior, or with a learned critic its estimate of the team's. The prior's cost depends on the state and on
// future arrivals but not on the choice, so it adds no bias (Mao et al., ICLR 2019, on input-driven environments). It leaves
// little variance, because a decision is compared with the prior's decision in the same state and with the same future. If costs
// end in an estimate of the backlog, the two have to end at the same instant: what a step saved is then known from two forks.
func (r *rollout) judge(memory, credit time.Duration) {
	next, value, end := 0.0, 0.0, time.Duration(0)
	for i := len(r.steps) - 1; i >= 0; i-- {
		s := r.steps[i]
		if r.tailed {
			next, end = s.saved+fade(end-s.at, credit)*next, s.at
			r.samples[i].Gain = next
			continue
		}
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
