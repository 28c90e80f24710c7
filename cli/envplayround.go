package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/sim"
)

// envPlay is an episode that the user watches.
type envPlay struct {
	about  string // what is played, for the heading
	env    *env.Cluster
	player *envPlayer
	ts     env.TimeStep
	joint  []game.Action
	acted  bool // joint is what the player names in the current round
	left   bool // the player left that choice to the prior
	round  int  // number of rounds played
	told   int  // number of log records that were shown
	sum    float64
}

// openPlay starts the episode.
func openPlay(a *app, opts *envPlayOptions) (*envPlay, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	player, play, err := opts.player(a)
	if err != nil {
		return nil, err
	}
	cfg, err := opts.episodes()
	if err != nil {
		return nil, err
	}
	cfg.Game = play
	e, err := env.New(cfg)
	if err != nil {
		return nil, err
	}
	p := &envPlay{env: e, player: player, joint: make([]game.Action, e.Spec().Agents)}
	if err := player.Reset(opts.seed); err != nil {
		return nil, err
	}
	if err := e.Reset(opts.seed, &p.ts); err != nil {
		return nil, err
	}
	p.told = len(e.Log().Records)
	p.about = fmt.Sprintf("%s, %s, seed %d: %s plays on %d servers, the prior is %s", opts.scenario.Name, opts.split, opts.seed,
		player.Name(), e.Spec().Agents, player.prior)
	if player.rule != "" {
		p.about += "; " + player.rule
	}
	return p, nil
}

// act asks the player what it names in the current round. Further calls in the round do nothing.
func (p *envPlay) act() error {
	if p.acted {
		return nil
	}
	before := p.player.leftToPrior()
	if err := p.player.Act(p.env.Txn(), &p.ts.Round, p.joint); err != nil {
		return fmt.Errorf("%s at %v: %w", p.player.Name(), p.ts.Now, err)
	}
	p.acted, p.left = true, p.player.leftToPrior() > before
	return nil
}

// step plays the current round and returns the log records that it adds.
func (p *envPlay) step() ([]sim.Record, error) {
	if err := p.env.Step(p.joint, &p.ts); err != nil {
		return nil, err
	}
	p.acted = false
	p.round++
	p.sum += p.ts.Reward
	news := p.env.Log().Records[p.told:]
	p.told += len(news)
	return news, nil
}

// skip lets the player play until more returns false, and then shows what happened.
func (p *envPlay) skip(ctx context.Context, screen playScreen, more func() bool) error {
	from, counts := p.round, map[sim.Kind]int{}
	for !p.ts.Over() && more() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.act(); err != nil {
			return err
		}
		news, err := p.step()
		if err != nil {
			return err
		}
		for i := range news {
			counts[news[i].Kind]++
		}
	}
	if p.round > from {
		screen.skipped(p, p.round-from, counts)
	}
	return nil
}

// playRound is a round as it is shown: as a line of JSON or drawn.
type playRound struct {
	Round       int             `json:"round"` // from 1
	Now         float64         `json:"now_s"`
	Waiting     int             `json:"waiting"`
	Running     int             `json:"running"`
	GPUs        int64           `json:"gpus"`      // GPUs of servers that take training jobs
	Free        int64           `json:"free_gpus"` // free GPUs among them
	Candidates  []playCandidate `json:"candidates"`
	Prior       game.Action     `json:"prior"`                   // what the prior would choose
	LeftToPrior bool            `json:"left_to_prior,omitempty"` // the policy left the choice to its prior, as out of distribution
	By          string          `json:"by"`                      // who chose: the policy, or hand
	Named       []playNamed     `json:"named"`                   // ascending by number; all others pass
	Carried     []game.Action   `json:"carried_out"`             // ascending
	Refused     []playRefused   `json:"refused"`                 // ascending
	Reward      float64         `json:"reward"`                  // for the time until the next round
	Elapsed     float64         `json:"elapsed_s"`               // until the next round
	Changes     []playChange    `json:"changes"`                 // until the next round, in order of time
	Terminated  bool            `json:"terminated,omitempty"`    // every job finished
	Truncated   string          `json:"truncated,omitempty"`     // why the episode was cut off before that
	agents      int
}

// playNamed lists the agents that name a number.
type playNamed struct {
	Number game.Action `json:"number"`
	Agents []int       `json:"agents"` // agent i is server i
}

type playRefused struct {
	Number game.Action `json:"number"`
	Reason string      `json:"reason"`
}

// look returns the current round before it is played, with what the player names.
func (p *envPlay) look() (*playRound, error) {
	if err := p.act(); err != nil {
		return nil, err
	}
	s := p.ts.Cluster
	return &playRound{
		Round: p.round + 1, Now: p.ts.Now.Seconds(), Waiting: len(s.Pending()), Running: len(s.Running()), Free: s.FreeTotal(),
		GPUs: openGPUs(s), Candidates: p.candidates(), Prior: p.ts.Prior, LeftToPrior: p.left, By: p.player.Name(),
		Named: whoNames(p.joint), Carried: []game.Action{}, Refused: []playRefused{}, Changes: []playChange{},
		agents: len(p.joint),
	}, nil
}

// choose replaces what the player names by the user's choice.
func (p *envPlay) choose(r *playRound, o order) {
	if o.own {
		return
	}
	p.ts.Unanimous(o.number, p.joint)
	r.By, r.Named = "hand", whoNames(p.joint)
}

// carryOut plays the current round and adds the results to r.
func (p *envPlay) carryOut(r *playRound) error {
	news, err := p.step()
	if err != nil {
		return err
	}
	r.Carried = append(r.Carried, p.ts.Taken...)
	for _, x := range p.ts.Refused {
		r.Refused = append(r.Refused, playRefused{x.Candidate, x.Reason.String()})
	}
	for i := range news {
		if k := news[i].Kind; k != sim.End && k != sim.Measure {
			r.Changes = append(r.Changes, changeOf(p.env.Log(), &news[i]))
		}
	}
	r.Reward, r.Elapsed, r.Terminated, r.Truncated = p.ts.Reward, p.ts.Elapsed.Seconds(), p.ts.Terminated, p.ts.Truncated
	return nil
}

// whoNames groups the agents by the number that they name.
func whoNames(joint []game.Action) []playNamed {
	by := map[game.Action][]int{}
	for i, n := range joint {
		if n != game.Pass {
			by[n] = append(by[n], i)
		}
	}
	all := []playNamed{}
	for _, n := range slices.Sorted(maps.Keys(by)) {
		all = append(all, playNamed{n, by[n]})
	}
	return all
}

// writeLine writes a value as one line of JSON.
func writeLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
