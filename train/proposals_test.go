package train

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

// bold returns a policy with random weights in all layers, so that it departs from its prior, and wide lists.
func bold(t *testing.T, joint bool, rivals ...string) *agents.Policy {
	t.Helper()
	draw := rand.New(rand.NewPCG(1, 6))
	d := agents.Design{
		Name: "bold", Window: 8, Prior: "fifo", Wide: agents.Wide{Items: 12, Rivals: rivals},
		Size: agents.Size{Width: 8, Heads: 2, Hidden: 8, Rank: 2, Kappa: 2, Inducing: 2, Joint: joint},
	}
	p := must.Get(d.Make(func(s agents.Shape) (agents.Params, error) { return agents.Init(s, draw), nil }))(t)
	for i := range p.Params {
		for k := range p.Params[i].Data {
			p.Params[i].Data[k] += float32(draw.NormFloat64())
		}
	}
	return p
}

// TestProposalsAddUp checks the counts of proposals offered and taken while the team samples and while it takes the highest bid:
// with one rival they are the candidates of that kind; two rivals that decide alike have equal counts; and none is taken that was
// not offered.
func TestProposalsAddUp(t *testing.T) {
	episode := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(4, 4)}, Jobs: mixed(24, 5)}
	for _, joint := range []bool{false, true} {
		for _, rivals := range [][]string{{"las"}, {"sjfskip", "sjfhold:times=0"}, {"las", "sjfskip", "srsf"}} {
			p := bold(t, joint, rivals...)
			sampled := must.Get(play(p, episode, flow(time.Hour), 0, rand.New(rand.NewPCG(3, 4))))(t)
			greedy := newProposals(rivals)
			team := agents.NewTeam(p)
			choices, any := 0, 0 // of all, those with a candidate of the kind
			team.Record(func(_ *cluster.Txn, c *agents.Choice) error {
				choices++
				for k := range c.List {
					if c.List[k].Kind == candidates.Rival && !c.Gone[k] {
						any++
						break
					}
				}
				greedy.see(c)
				return nil
			})
			must.Get(flow(time.Hour).follow(team, episode))(t)
			for _, c := range []struct {
				who     string
				counts  *proposals
				taken   int
				offered int // at most, 0 for not counted
			}{
				{"sampling", &sampled.proposals, sampled.kinds[candidates.Rival], 0},
				{"greedy", &greedy, team.Game().Tally()[candidates.Rival], any},
			} {
				offered, taken := 0, 0
				for _, name := range rivals {
					if c.counts.offered[name] < c.counts.taken[name] || c.counts.offered[name] == 0 {
						t.Errorf("%v, %s: %s is offered %d times and taken %d times", rivals, c.who, name, c.counts.offered[name],
							c.counts.taken[name])
					}
					offered, taken = offered+c.counts.offered[name], taken+c.counts.taken[name]
				}
				switch first := rivals[0]; {
				case len(rivals) == 1 && (taken != c.taken || c.offered > 0 && offered != c.offered):
					t.Errorf("%v, %s: offered %d and taken %d, want %d and %d", rivals, c.who, offered, taken, c.offered, c.taken)
				case len(rivals) == 2 && (c.counts.taken[first] != c.taken || taken != 2*c.taken || offered != 2*c.counts.offered[first]):
					t.Errorf("%v, %s: %+v, want %d taken of each", rivals, c.who, c.counts, c.taken)
				case len(rivals) == 3 && (taken < c.taken || offered < c.offered):
					t.Errorf("%v, %s: %+v, want at least %d taken", rivals, c.who, c.counts, c.taken)
				}
			}
			if sampled.kinds[candidates.Rival] == 0 || any == 0 || choices == any {
				t.Errorf("%v: %d taken, offered in %d of %d choices: the test says little", rivals, sampled.kinds[candidates.Rival], any, choices)
			}
		}
	}
}
