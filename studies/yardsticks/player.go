package yardsticks

import (
	"math/rand/v2"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/rng"
)

// Policy is a learned policy: every agent names the candidate with the highest score.
type Policy struct{ net *net }

// player returns a player of the policy, for one game at a time.
func (p *Policy) player(name string) *greedy { return &greedy{name: name, net: p.net.clone()} }

// greedy names what scores highest.
type greedy struct {
	name   string
	net    *net
	b      batch
	scores []float32
	taken  []int
}

// Name implements game.Player.
func (g *greedy) Name() string { return g.name }

// Reset implements game.Player.
func (g *greedy) Reset(uint64) error { return nil }

// Act implements game.Player.
func (g *greedy) Act(_ *cluster.Txn, r *game.Round, joint []game.Action) error {
	views := see(r)
	g.b.reset()
	for i := range views {
		g.b.add(&views[i])
	}
	g.scores, g.taken = g.net.score(g.scores[:0], g.b.rows), g.taken[:0]
	for i := range views {
		g.taken = append(g.taken, highest(g.b.of(g.scores, i)))
	}
	name(views, g.taken, joint)
	return nil
}

// Random is the name of the policy in which every agent names one of its candidates, or passes, with equal chances.
const Random = "random"

// random is its player.
type random struct{ draw *rand.Rand }

// Name implements game.Player.
func (*random) Name() string { return Random }

// Reset implements game.Player.
func (p *random) Reset(seed uint64) error {
	p.draw = rng.Stream(seed, "yardsticks", "random")
	return nil
}

// Act implements game.Player.
func (p *random) Act(_ *cluster.Txn, r *game.Round, joint []game.Action) error {
	for i, v := range see(r) {
		joint[i] = v.numbers[p.draw.IntN(len(v.numbers))]
	}
	return nil
}

// priorPlayer names what the prior would do.
type priorPlayer struct{}

// Name implements game.Player.
func (priorPlayer) Name() string { return "prior" }

// Reset implements game.Player.
func (priorPlayer) Reset(uint64) error { return nil }

// Act implements game.Player.
func (priorPlayer) Act(_ *cluster.Txn, r *game.Round, joint []game.Action) error {
	r.Unanimous(r.Prior, joint)
	return nil
}
