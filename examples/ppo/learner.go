package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
)

// learner plays episodes of an environment and learns from them. It uses nothing of the environment but its interface. The same
// environment, seed and number of updates give the same policy.
type learner struct {
	options
	controller
	policy
	returns *env.Statistics       // the environment with its original rewards
	scaled  *env.NormalisedReward // the same environment with rewards of a magnitude that suits the learner
	seed    uint64
	played  uint64 // number of episodes
	draw    *rand.Rand
}

func newLearner(e env.Env, name string, o options, seed uint64) (*learner, error) {
	c, err := newController(name)
	if err != nil {
		return nil, err
	}
	returns := env.NewStatistics(e)
	scaled, err := env.NewNormalisedReward(returns, o.memory)
	if err != nil {
		return nil, err
	}
	draw := rand.New(rand.NewPCG(seed, 0))
	spec := e.Spec()
	row, state := c.widths(&spec)
	p := policy{actor: newNet(row, 0.01, draw), critic: newNet(state, 1, draw)}
	return &learner{options: o, controller: c, policy: p, returns: returns, scaled: scaled, seed: seed, draw: draw}, nil
}

// progress is a summary of the episodes of an update.
type progress struct {
	mean    float64 // mean return
	refused float64 // refused actions per round: candidates that agents named and that were not carried out
}

// update plays some episodes and learns from them.
func (l *learner) update() (progress, error) {
	var all []decision
	var sum progress
	rounds := 0
	for range l.episodes {
		episode, err := l.play(l.scaled, env.EpisodeSeed(l.seed, l.played), l.sample)
		if err != nil {
			return sum, err
		}
		l.played++
		for _, stream := range episode {
			estimate(stream)
			all = append(all, stream...)
		}
		last, _ := l.returns.Last()
		sum.mean += last.Return / float64(l.episodes)
		sum.refused += float64(last.Refused)
		rounds += last.Rounds
	}
	sum.refused /= float64(max(rounds, 1))
	l.learn(all, &l.options, l.draw)
	return sum, nil
}

// greedy returns the mean return of the most likely choices over episodes with the given seeds.
func (l *learner) greedy(e env.Env, seeds []uint64) (float64, error) {
	returns := env.NewStatistics(e)
	sum := 0.0
	for _, seed := range seeds {
		if _, err := l.play(returns, seed, likeliest); err != nil {
			return 0, err
		}
		last, _ := returns.Last()
		sum += last.Return
	}
	return sum / float64(len(seeds)), nil
}

// play plays an episode and returns its decisions, by decider.
func (l *learner) play(e env.Env, seed uint64, choose func([]float64) int) ([][]decision, error) {
	var ts env.TimeStep
	if err := e.Reset(seed, &ts); err != nil {
		return nil, err
	}
	deciders := make([][]decision, l.deciders(ts.Spec()))
	chosen := make([]game.Action, len(deciders))
	joint := make([]game.Action, ts.Spec().Agents)
	for {
		for i, before := range deciders {
			c := l.see(&ts, i)
			value := l.value(c.state)
			if n := len(before); n > 0 {
				before[n-1].next = value
			}
			if ts.Over() {
				continue
			}
			p := l.probabilities(&c)
			k := choose(p)
			chosen[i] = c.numbers[k]
			deciders[i] = append(before, decision{choice: c, taken: k, log: math.Log(p[k]), value: value})
		}
		if ts.Over() {
			return deciders, nil
		}
		l.act(&ts, chosen, joint)
		if err := e.Step(joint, &ts); err != nil {
			return nil, err
		}
		for i, d := range deciders {
			now := &d[len(d)-1]
			now.reward = l.reward(&ts, i)
			if !ts.Terminated { // a truncated episode would have gone on, so its last value counts
				now.discount = math.Exp(-float64(ts.Elapsed) / float64(l.memory))
			}
		}
	}
}

// sample draws an index by its probability.
func (l *learner) sample(probabilities []float64) int {
	x := l.draw.Float64()
	for k, p := range probabilities {
		if x -= p; x < 0 {
			return k
		}
	}
	return len(probabilities) - 1
}

// likeliest returns the index of the highest probability, the first of several.
func likeliest(probabilities []float64) int {
	return slices.Index(probabilities, slices.Max(probabilities))
}
