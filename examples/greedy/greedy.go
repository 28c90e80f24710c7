// Package greedy turns a preference among jobs into joint actions. The examples play with it; it learns nothing itself.
package greedy

import (
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

// Player starts, round by round, the job of the window that it likes best among those that fit, on as few servers as it can.
type Player struct {
	// Score says how much the k-th job of the window is liked; the first of equals is taken.
	Score func(ts *env.TimeStep, k int) float64

	joint    []env.Action
	fit, try cluster.Placement
}

// Episode plays the episode of a seed to its end and returns the sum of the rewards.
func (p *Player) Episode(e env.Env, seed uint64) (float64, error) {
	var ts env.TimeStep
	spec := e.Spec()
	if err := e.Reset(seed, &ts); err != nil {
		return 0, err
	}
	sum := ts.Reward
	for !ts.Over() {
		if err := e.Step(p.act(&spec, &ts), &ts); err != nil {
			return 0, err
		}
		sum += ts.Reward
	}
	return sum, nil
}

// act answers for all agents: those whose servers the best job gets claim it, the others do nothing.
func (p *Player) act(spec *env.Spec, ts *env.TimeStep) []env.Action {
	best, most := -1, 0.0
	for k, id := range ts.Window {
		if id < 0 {
			continue // fewer jobs wait than the window shows
		}
		score := p.Score(ts, k)
		if best >= 0 && score <= most {
			continue
		}
		var fits bool
		if p.try, fits = ts.State.BestFit(id, p.try[:0]); fits {
			best, most = k, score
			p.fit, p.try = p.try, p.fit
		}
	}
	p.joint = append(p.joint[:0], make([]env.Action, spec.Agents)...)
	if best >= 0 {
		for _, piece := range p.fit {
			p.joint[piece.Server] = env.Action(1 + best*len(spec.Menu)) // the first level of the menu
		}
	}
	return p.joint
}
