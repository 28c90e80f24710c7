package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/baselines/review"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// rollout is one episode under the sampled policy.
type rollout struct {
	samples []learn.Sample
	steps   []step // of the samples
	curve   *curve
	kinds   [review.Kinds]int // offers taken
}

// step is a decision, and what the prior would have cost from it on.
type step struct {
	at    time.Duration
	value float64 // discounted job-hours
}

// player plays episodes and looks at what they might have been.
type player struct {
	policy *agents.Policy
	memory time.Duration
	label  float64       // part of the decisions that are labelled; below 0 every decision is judged by the prior alone
	until  time.Duration // how far what an offer leads to is played
	run    *sim.Sim
	fork   sim.Sim
	prior  *review.Guard
	out    *rollout
}

// play runs an episode, sampling. With label of 0 or more that part of its decisions is recorded, each with what its offers
// would save; else all are, each with what the prior would cost from there.
func play(p *agents.Policy, episode sim.Episode, memory time.Duration, label float64, draw *rand.Rand) (*rollout, error) {
	run, err := episode.New()
	if err != nil {
		return nil, err
	}
	g := player{policy: p, memory: memory, label: label, until: math.MaxInt64, run: run, prior: p.PlayOn(), out: &rollout{}}
	if label >= 0 {
		g.until = horizon(memory)
	}
	if err := g.play(draw); err != nil {
		return nil, err
	}
	g.out.curve = newCurve(run.Log(), memory)
	return g.out, nil
}

// play plays the episode to its end.
func (g *player) play(draw *rand.Rand) error {
	team := agents.NewTeam(g.policy)
	team.Explore(draw, func(_ *cluster.Txn, c *agents.Choice) error {
		g.out.kinds[c.Offers[c.Action].Kind]++
		if g.label >= 0 && draw.Float64() >= g.label {
			return nil
		}
		return g.record(c)
	})
	if err := g.run.Run(context.Background(), team, 0); err != nil {
		return err
	}
	if o := g.run.Outcome(); !o.Terminated {
		return cutOff(o)
	}
	return nil
}

// record keeps a choice and judges it, or all of its offers.
func (g *player) record(c *agents.Choice) error {
	value, err := g.cost(&c.Offers[0])
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
		s.Saved = make([]float64, len(c.Offers))
		for i := 1; i < len(c.Offers); i++ {
			cost, err := g.cost(&c.Offers[i])
			if err != nil {
				return err
			}
			s.Saved[i] = value - cost
		}
	}
	g.out.samples = append(g.out.samples, s)
	g.out.steps = append(g.out.steps, step{g.run.State().Now(), value})
	return nil
}

// cost is what the episode would cost from here on with an offer and the prior after it, in discounted job-hours.
func (g *player) cost(o *review.Offer) (float64, error) {
	g.run.Fork(&g.fork)
	if err := o.Apply(g.fork.State().Txn()); err != nil {
		return 0, err
	}
	g.prior.Commit(o)
	return costOf(&g.fork, g.prior, g.memory, g.until)
}

// costOf plays a fork on, to its end or until so much later, and returns its discounted job-hours.
func costOf(fork *sim.Sim, prior cluster.Scheduler, memory, until time.Duration) (float64, error) {
	start, cost, enough := fork.State().Now(), 0.0, false
	err := fork.Continue(prior, 0, func(from, to time.Duration, jobs int) bool {
		cost += float64(jobs) * memory.Hours() * (fade(from-start, memory) - fade(to-start, memory))
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

// follow runs an episode greedily.
func follow(s cluster.Scheduler, episode sim.Episode, memory time.Duration) (*curve, error) {
	run, err := episode.New()
	if err != nil {
		return nil, err
	}
	if err := run.Run(context.Background(), s, 0); err != nil {
		return nil, err
	}
	if o := run.Outcome(); !o.Terminated {
		return nil, cutOff(o)
	}
	return newCurve(run.Log(), memory), nil
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
