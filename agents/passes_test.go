package agents_test

import (
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/must"
)

// counted is a player whose forward passes are counted. If anew is true it looks at every round anew, so that it chooses one
// candidate a pass.
type counted struct {
	*agents.Player
	anew   bool
	passes int
}

func (c *counted) Act(tx *cluster.Txn, r *game.Round, joint []game.Action) error {
	round := *r
	round.Later = round.Later && !c.anew
	if !round.Later {
		c.passes++
	}
	return c.Player.Act(tx, &round, joint)
}

// TestPasses counts the forward passes of a policy that decides jointly, and of the same policy if it passes forward again after
// each candidate that is carried out. The weights are random.
func TestPasses(t *testing.T) {
	design := agents.Design{
		Name: "joint", Window: 16, Prior: "srsf+menu+move", Wide: agents.Wide{Items: 30}, Size: agents.DefaultSize(),
	}
	design.Size.Joint = true
	p, err := design.Make(func(s agents.Shape) (agents.Params, error) {
		return agents.Init(s, rand.New(rand.NewPCG(1, 2))), nil
	})
	must.Do(t, err)
	shake(p, 1)
	jobs := workload(120, 1, false)
	passes := [2]int{}
	for i := range passes {
		c := &counted{Player: agents.NewPlayer(p), anew: i == 1}
		play(t, cluster.Uniform(5, 8), jobs, game.NewScheduler(c, p.Game()))
		passes[i] = c.passes
	}
	if passes[0] == 0 || passes[0] >= passes[1] {
		t.Errorf("%d forward passes by joint decisions, %d by single ones: want fewer", passes[0], passes[1])
	}
}
