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
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// rollout is one episode under the sampled policy.
type rollout struct {
	samples []learn.Sample
	step    []int // of each sample
	steps   []step
	curve   *curve
}

// step is a time step with a choice, and what the prior would have cost from it on.
type step struct {
	at    time.Duration
	value float64 // discounted job-hours
}

// play runs an episode through the environment, sampling, and records every choice and what the prior would cost from there.
func play(p *agents.Policy, episode sim.Episode, memory time.Duration, draw *rand.Rand) (*rollout, error) {
	e, err := env.New(env.Config{
		Sim: episode.Config, Encoder: p.Encoder(), SkipForced: true,
		Episode: func(uint64) (sim.Episode, error) { return episode, nil },
	})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	decoder := agents.NewDecoder(e.Spec(), p.Hold, agents.NewNet(p.Shape, p.Params))
	joint := make([]env.Action, e.Spec().Agents)
	var ts env.TimeStep
	if err := e.Reset(0, &ts); err != nil {
		return nil, err
	}
	out, prior, fork := &rollout{}, heuristic(p, episode.Jobs), &sim.Sim{}
	for !ts.Over() {
		e.Fork(fork)
		value, err := costOf(fork, prior, memory)
		if err != nil {
			return nil, err
		}
		out.steps = append(out.steps, step{ts.Now, value})
		out.round(decoder, &ts, draw, joint)
		if err := e.Step(joint, &ts); err != nil {
			return nil, err
		}
	}
	if !ts.Terminated {
		return nil, cutOff(sim.Outcome{Truncated: ts.Truncated})
	}
	out.curve = newCurve(e.Log(), memory)
	return out, nil
}

// heuristic is the prior as a list scheduler for these jobs: the same decisions as agents.NewPrior, much faster. Without
// estimates the prior goes by submission.
func heuristic(p *agents.Policy, jobs []trace.Job) cluster.Scheduler {
	if slices.ContainsFunc(jobs, func(j trace.Job) bool { return j.Estimate > 0 }) {
		return baselines.NewHold(p.Hold)
	}
	return baselines.NewSkip()
}

// round decodes one joint action and records its choices.
func (r *rollout) round(decoder *agents.Decoder, ts *env.TimeStep, draw *rand.Rand, joint []env.Action) {
	var shared *agents.Observation // one copy a round
	decoder.Round(ts, draw, joint, func(c *agents.Choice) {
		if shared == nil {
			o := c.Observation.Clone()
			shared = &o
		}
		s := learn.Sample{Choice: c.Clone()}
		s.Observation = shared
		if len(c.Committed) > 0 {
			s.Adjacent = make([]float32, c.Graph.Agents*c.Graph.Agents)
			c.Graph.Adjacency(s.Adjacent)
		}
		r.samples, r.step = append(r.samples, s), append(r.step, len(r.steps)-1)
	})
}

// costOf plays a fork to its end and returns its discounted job-hours.
func costOf(fork *sim.Sim, prior cluster.Scheduler, memory time.Duration) (float64, error) {
	start, cost := fork.State().Now(), 0.0
	err := fork.Continue(prior, 0, func(from, to time.Duration, jobs int) {
		cost += float64(jobs) * memory.Hours() * (fade(from-start, memory) - fade(to-start, memory))
	})
	if o := fork.Outcome(); err == nil && !o.Terminated {
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
	gain := make([]float64, len(r.steps))
	next, value, end := 0.0, 0.0, time.Duration(0)
	for i := len(r.steps) - 1; i >= 0; i-- {
		s := r.steps[i]
		cost, keep := r.curve.from(s.at), 0.0
		if i < len(r.steps)-1 {
			keep = fade(end-s.at, memory)
			cost -= keep * r.curve.from(end)
			gain[i] = keep * fade(end-s.at, credit) * next
		}
		gain[i] += s.value - cost - keep*value
		next, value, end = gain[i], s.value, s.at
	}
	for i := range r.samples {
		r.samples[i].Gain = gain[r.step[i]]
	}
}
