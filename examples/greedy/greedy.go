// Package greedy turns a preference among candidates into joint actions. The examples play with it; it learns nothing itself.
package greedy

import (
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
)

// Player carries out, round by round, the candidate that it likes best.
type Player struct {
	// Score says how much a candidate is liked; the first of equals is taken.
	Score func(ts *env.TimeStep, n game.Action) float64

	joint []game.Action
}

// Episode plays the episode of a seed to its end and returns the sum of the rewards.
func (p *Player) Episode(e env.Env, seed uint64) (float64, error) {
	var ts env.TimeStep
	p.joint = make([]game.Action, e.Spec().Agents)
	if err := e.Reset(seed, &ts); err != nil {
		return 0, err
	}
	sum := ts.Reward
	for !ts.Over() {
		ts.Unanimous(p.best(&ts), p.joint) // all servers that take part in it name it, the others pass
		if err := e.Step(p.joint, &ts); err != nil {
			return 0, err
		}
		sum += ts.Reward
	}
	return sum, nil
}

func (p *Player) best(ts *env.TimeStep) game.Action {
	best, most := game.Pass, 0.0
	for k := range ts.List {
		n := game.Action(k + 1)
		if score := p.Score(ts, n); best == game.Pass || score > most {
			best, most = n, score
		}
	}
	return best
}

// Prior is a Score that likes what the prior would do.
func Prior(ts *env.TimeStep, n game.Action) float64 {
	if n == ts.Prior {
		return 1
	}
	return 0
}

// Game is the game about what a baseline proposes. nil is the standard encoder.
func Game(prior string, encoder observe.Encoder) (game.Config, error) {
	r, err := baselines.Reviewed(prior)
	return game.Config{Review: r.Config, Rule: r.Rule, Encoder: encoder}, err
}
