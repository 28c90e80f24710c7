package cli

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/policy"
)

const randomPlay = "random"

// envPlayer is a player with what it shows of its choices.
type envPlayer struct {
	game.Player
	prior string
	rule  string // how a learned policy chooses, behind a semicolon; "" for other players
	// leftToPrior returns the number of choices that a learned policy has left to its prior.
	leftToPrior func() int
	bids        []float32 // bids of a learned policy in the last round, for the candidates that are not gone
}

// player returns the player and the game that it plays.
func (o *envPlayOptions) player(a *app) (*envPlayer, game.Config, error) {
	p := &envPlayer{Player: priorPlayer{}, leftToPrior: func() int { return 0 }}
	switch _, err := o.table.New(o.Policy); {
	case o.Policy == policy.Prior:
	case o.Policy == randomPlay:
		p.Player = new(randomPlayer)
	case err != nil:
		return o.learnedPlayer(a)
	case o.changed("prior"):
		return nil, game.Config{}, cmdline.Usage(
			"--policy %s --prior %s: a baseline plays rounds about its own proposals: want one of the two flags", o.Policy, o.Prior)
	default:
		o.Prior = o.Policy // a baseline proposes, and all servers name what it proposes
	}
	p.prior = o.Prior
	create, err := o.game()
	if err != nil {
		return nil, game.Config{}, err
	}
	cfg, err := create()
	return p, cfg, err
}

// learnedPlayer returns the player of a learned policy and its game.
func (o *envPlayOptions) learnedPlayer(a *app) (*envPlayer, game.Config, error) {
	for _, flag := range []string{"prior", "window", "encoder"} {
		if o.changed(flag) {
			return nil, game.Config{}, cmdline.Usage("--%s does not go with --policy %s: a learned policy has its own", flag, o.Policy)
		}
	}
	if s, err := o.table.ParsePolicy(o.Policy); err == nil && len(s.Suffixes) > 0 {
		return nil, game.Config{}, cmdline.Usage("--policy %s: who plays rounds takes no suffix: want it without %s", o.Policy,
			strings.Join(s.Suffixes, ""))
	}
	found, err := a.findPolicy(o.Policy)
	if err != nil {
		return nil, game.Config{}, err
	}
	if found.Prior == nil {
		return nil, game.Config{}, cmdline.Usage(
			"--policy %s: env play cannot give it what it needs: want a baseline without seen=training, or a learned policy", o.Policy)
	}
	agree, err := game.ParseAgreement(o.Agree)
	if err != nil {
		return nil, game.Config{}, err
	}
	var p *envPlayer
	var cfg game.Config
	if found.Central != nil {
		p, cfg = centralPlayer(found.Central)
	} else {
		p, cfg = teamPlayer(found.Learned)
	}
	cfg.Agree = agree
	return p, cfg, nil
}

// teamPlayer returns the player of a team of agents and its game.
func teamPlayer(team *agents.Policy) (*envPlayer, game.Config) {
	player := agents.NewPlayer(team)
	p := &envPlayer{
		Player: player, prior: team.Prior, leftToPrior: player.OutOfDistribution,
		rule: fmt.Sprintf("; it departs from the prior where another bid is more than %g above the prior's", team.Margin),
	}
	player.Record(func(_ *cluster.Txn, c *agents.Choice) error {
		p.bids = append(p.bids[:0], c.Bids...)
		return nil
	})
	return p, team.Game()
}

// centralPlayer returns the player of a central controller and its game. What it bids for a candidate is the score.
func centralPlayer(c *agents.Central) (*envPlayer, game.Config) {
	player := agents.NewCentralPlayer(c)
	p := &envPlayer{
		Player: player, prior: c.Prior, leftToPrior: player.OutOfDistribution,
		rule: "; all servers of the candidate with the highest bid name it, and all pass where passing has a higher one",
	}
	player.Record(func(r *game.Round, scores []float32) {
		p.bids = p.bids[:0]
		for k := range r.List {
			if k == 0 || !r.List[k].Gone {
				p.bids = append(p.bids, scores[k+1])
			}
		}
	})
	return p, c.Game()
}

// priorPlayer names the candidate that the prior would choose.
type priorPlayer struct{}

func (priorPlayer) Name() string { return policy.Prior }

func (priorPlayer) Reset(uint64) error { return nil }

func (priorPlayer) Act(_ *cluster.Txn, r *game.Round, joint []game.Action) error {
	r.Unanimous(r.Prior, joint)
	return nil
}

// randomPlayer names random allowed candidates.
type randomPlayer struct{ draw *rand.Rand }

func (*randomPlayer) Name() string { return randomPlay }

func (p *randomPlayer) Reset(seed uint64) error {
	p.draw = rng.Stream(seed, "env play", randomPlay)
	return nil
}

func (p *randomPlayer) Act(_ *cluster.Txn, r *game.Round, joint []game.Action) error {
	envtest.RandomJoint(r, p.draw, joint)
	return nil
}
