package agents_test

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
)

var (
	passesOf      = flag.String("passes-of", "", "folder of an exported policy that decides jointly, for TestPasses")
	passesSets    = flag.String("passes-sets", "", "settings of its scenario for TestPasses, with commas between")
	passesWindows = flag.Int("passes-windows", 20, "validation windows that TestPasses plays")
)

// counted is a player whose forward passes are counted. If anew is true it looks at every round anew, so that it chooses one
// candidate a pass.
type counted struct {
	*agents.Player
	anew           bool
	rounds, passes int
	large          [2]int // rounds and passes of decisions of at least 8 rounds
}

// decisions is the scheduler of a counted player.
type decisions struct {
	*game.Scheduler
	of *counted
}

func (d decisions) Schedule(tx *cluster.Txn) error {
	before := *d.of
	err := d.Scheduler.Schedule(tx)
	if rounds := d.of.rounds - before.rounds; rounds >= 8 {
		d.of.large[0] += rounds
		d.of.large[1] += d.of.passes - before.passes
	}
	return err
}

func (c *counted) Act(tx *cluster.Txn, r *game.Round, joint []game.Action) error {
	round := *r
	round.Later = round.Later && !c.anew
	c.rounds++
	if !round.Later {
		c.passes++
	}
	return c.Player.Act(tx, &round, joint)
}

// TestPasses counts the forward passes of a policy that decides jointly, and of the same policy if it passes forward again after
// each candidate that is carried out. It compares the mean JCT of all jobs. Without -passes-of the weights are random.
func TestPasses(t *testing.T) {
	if *passesOf == "" {
		design := agents.Design{
			Name: "joint", Window: 16, Prior: "srsf+menu+move", Wide: agents.Wide{Items: 30}, Size: agents.DefaultSize(),
		}
		design.Size.Joint = true
		p, err := design.Make(func(s agents.Shape) (agents.Params, error) {
			return agents.Init(s, rand.New(rand.NewPCG(1, 2))), nil
		})
		if err != nil {
			t.Fatal(err)
		}
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
		return
	}

	p, m, err := agents.Load(*passesOf)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Load(m.Training.Scenario, strings.FieldsFunc(*passesSets, func(c rune) bool { return c == ',' })...)
	if err != nil {
		t.Fatal(err)
	}
	src, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	var jct [2]float64
	var count [2]counted
	for w := range *passesWindows {
		for i := range jct {
			e, err := src.Episode(scenario.Validation, w, 1)
			if err != nil {
				t.Fatal(err)
			}
			run, err := e.New()
			if err != nil {
				t.Fatal(err)
			}
			c := &counted{Player: agents.NewPlayer(p), anew: i == 1}
			if err := run.Run(t.Context(), decisions{game.NewScheduler(c, p.Game()), c}, 1); err != nil {
				t.Fatal(err)
			}
			for _, r := range run.Log().Records {
				if r.Kind == sim.Finish {
					jct[i] += (r.At - e.Jobs[r.Job].Submit).Seconds() / float64(len(e.Jobs)**passesWindows)
				}
			}
			count[i].rounds, count[i].passes = count[i].rounds+c.rounds, count[i].passes+c.passes
			count[i].large[0], count[i].large[1] = count[i].large[0]+c.large[0], count[i].large[1]+c.large[1]
		}
	}
	for i, name := range []string{"joint", "one candidate a pass"} {
		c := &count[i]
		t.Logf("%s: %d rounds in %d forward passes, in decisions of 8 rounds or more %d in %d, mean JCT %.0f s",
			name, c.rounds, c.passes, c.large[0], c.large[1], jct[i])
	}
	t.Logf("joint decisions: mean JCT %+.2f %%", 100*(jct[0]/jct[1]-1))
}
