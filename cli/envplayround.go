package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval/console"
	"github.com/clustergym/clustergym/internal/phrase"
)

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
}

// playCandidate is a candidate of a round as it is shown.
type playCandidate struct {
	Number    game.Action  `json:"number"`
	Kind      string       `json:"kind"`
	Job       string       `json:"job,omitempty"` // the job that it is about
	Does      string       `json:"does"`
	By        string       `json:"proposed_by,omitempty"` // another scheduler that proposed it
	Wait      float64      `json:"expected_wait_s,omitempty"`
	Saves     float64      `json:"expected_saving_s,omitempty"`
	Coalition []playMember `json:"coalition"` // ascending; empty if gone, and for a prior's choice that starts no job
	Bid       *float32     `json:"bid,omitempty"`
	Gone      bool         `json:"gone,omitempty"` // carried out already, or no longer fits: cannot be named
}

// playMember is a server that takes part in a candidate.
type playMember struct {
	Agent  int32   `json:"agent"`
	Server string  `json:"server"`
	Weight float32 `json:"weight"`
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

// playChange is an event between two rounds.
type playChange struct {
	At      float64  `json:"at_s"`
	What    string   `json:"what"` // the kind, as in an event log
	Job     string   `json:"job,omitempty"`
	Servers []string `json:"servers,omitempty"` // where the job runs after it, or the server that it is about
	GPUs    float64  `json:"gpus,omitempty"`    // GPUs of the job after it
}

// look returns the current round before it is played, with what the player names.
func (p *envPlay) look() (*playRound, error) {
	before := p.player.leftToPrior()
	if err := p.player.Act(p.env.Txn(), &p.ts.Round, p.joint); err != nil {
		return nil, fmt.Errorf("%s at %v: %w", p.player.Name(), p.ts.Now, err)
	}
	s := p.ts.Cluster
	r := &playRound{
		Round: p.round + 1, Now: p.ts.Now.Seconds(), Waiting: len(s.Pending()), Running: len(s.Running()), Free: s.FreeTotal(),
		Candidates: p.candidates(), Prior: p.ts.Prior, LeftToPrior: p.player.leftToPrior() > before, By: p.player.Name(),
		Named: whoNames(p.joint), Carried: []game.Action{}, Refused: []playRefused{}, Changes: []playChange{},
	}
	for i := range s.Servers() {
		if id := cluster.ServerID(i); s.Open(id) {
			r.GPUs += int64(s.Server(id).GPUs)
		}
	}
	return r, nil
}

// candidates returns the candidates of the current round as they are shown.
func (p *envPlay) candidates() []playCandidate {
	s, r := p.ts.Cluster, &p.ts.Round
	all := make([]playCandidate, len(r.List))
	bids := p.player.bids
	for k := range r.List {
		c := &r.List[k]
		n := game.Action(k + 1)
		all[k] = playCandidate{
			Number: n, Kind: c.Kind.String(), Does: c.Does(s), By: c.By, Wait: c.Wait.Seconds(), Saves: c.Saves.Seconds(),
			Coalition: []playMember{}, Gone: c.Gone && k > 0,
		}
		if c.Job >= 0 {
			all[k].Job = s.Spec(c.Job).Name
		}
		for _, m := range r.Members(n) {
			all[k].Coalition = append(all[k].Coalition, playMember{m.Server, s.Server(cluster.ServerID(m.Server)).Name, m.Weight})
		}
		if !all[k].Gone && len(bids) > 0 { // the policy bids only for candidates that are not gone
			all[k].Bid, bids = new(bids[0]), bids[1:]
		}
	}
	return all
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

// carryOut plays the current round and adds the results to r.
func (p *envPlay) carryOut(r *playRound) error {
	if err := p.env.Step(p.joint, &p.ts); err != nil {
		return err
	}
	p.round++
	p.sum += p.ts.Reward
	r.Carried = append(r.Carried, p.ts.Taken...)
	for _, x := range p.ts.Refused {
		r.Refused = append(r.Refused, playRefused{x.Candidate, x.Reason.String()})
	}
	log := p.env.Log()
	server := func(id cluster.ServerID) *cluster.ServerSpec { return &log.Config.Cluster.Servers[id] }
	for ; p.told < len(log.Records); p.told++ {
		x := &log.Records[p.told]
		c := playChange{At: x.At.Seconds(), What: x.Kind.String()}
		switch x.Kind {
		case sim.End, sim.Measure:
			continue
		case sim.Loan, sim.Reclaim, sim.Seize, sim.Fail, sim.Repair:
			c.Servers = []string{server(x.Server).Name}
		case sim.Need:
		default:
			at := log.Placement(x)
			c.Job, c.Servers, c.GPUs = log.Jobs[x.Job].Name, at.Names(server), at.GPUs()
		}
		r.Changes = append(r.Changes, c)
	}
	r.Reward, r.Elapsed, r.Terminated, r.Truncated = p.ts.Reward, p.ts.Elapsed.Seconds(), p.ts.Terminated, p.ts.Truncated
	return nil
}

// open returns the numbers of the candidates that can be named.
func (r *playRound) open() (all []int) {
	for i := range r.Candidates {
		if !r.Candidates[i].Gone {
			all = append(all, i+1)
		}
	}
	return all
}

// say draws lines. Names of jobs in them do not act on a terminal.
func (p *envPlay) say(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...) + "\n") {
		p.Printf("%s\n", console.Plain(strings.TrimSuffix(line, "\n"), false))
	}
}

// draw draws a round before it is played.
func (p *envPlay) draw(r *playRound) error {
	p.say("\nround %d at %s: %d waiting, %d running, %d of %d GPUs free",
		r.Round, clock(r.Now), r.Waiting, r.Running, r.Free, r.GPUs)
	rows := [][]string{{" ", "kind", "", "bid", "servers", "what it does"}}
	for _, n := range r.open() {
		c := &r.Candidates[n-1]
		mark, prior, bid := " ", "", ""
		passing := len(r.Named) == 0 && n == 1 && len(c.Coalition) == 0 // if all pass, a prior's choice without servers wins
		if passing || slices.ContainsFunc(r.Named, func(x playNamed) bool { return x.Number == c.Number }) {
			mark = ">"
		}
		if c.Number == r.Prior {
			prior = "prior"
		}
		if c.Bid != nil {
			bid = fmt.Sprintf("%.3g", *c.Bid)
		}
		var agents []int
		for _, m := range c.Coalition {
			agents = append(agents, int(m.Agent))
		}
		rows = append(rows, []string{fmt.Sprintf("%s%3d", mark, n), c.Kind, prior, bid, ranges(agents), console.Plain(c.Does, false)})
	}
	if err := p.PrintRows(rows); err != nil {
		return err
	}
	if r.LeftToPrior {
		p.say("the policy leaves the choice to the prior: it is out of distribution, beyond what training met")
	}
	return nil
}

// drawOutcome draws who named what in a round, and the result.
func (p *envPlay) drawOutcome(r *playRound) {
	named := []string{}
	for _, n := range r.Named {
		named = append(named, fmt.Sprintf("%d by %s", n.Number, ranges(n.Agents)))
	}
	if len(named) == 0 {
		named = append(named, "nothing: all servers pass")
	}
	p.say("%s names %s", r.By, strings.Join(named, "; "))
	for _, x := range r.Refused {
		p.say("refused %d: %s", x.Number, x.Reason)
	}
	p.say("carried out: %s", cmp.Or(strings.Trim(fmt.Sprint(r.Carried), "[]"), "none"))
	p.say("%s later, reward %.4g", phrase.Seconds(r.Elapsed), r.Reward)
	for _, c := range r.Changes {
		p.say("  %s", strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", c.What, c.Job, phrase.Few(c.Servers))), " "))
	}
}

// drawEnd draws how the episode ended, or that the user stopped it.
func (p *envPlay) drawEnd() {
	how, why := "stopped", fmt.Sprintf("%d waiting, %d running", len(p.ts.Cluster.Pending()), len(p.ts.Cluster.Running()))
	if p.ts.Over() {
		how = "the episode ends"
		if why += ", cut off: " + p.ts.Truncated; p.ts.Terminated {
			why = "every job has finished"
		}
	}
	p.say("\n%s at %s after %s, reward %.4g in all: %s", how, clock(p.ts.Now.Seconds()), phrase.Count(p.round, "round"), p.sum, why)
}

// ranges writes ascending numbers as ranges: "0-3, 7".
func ranges(all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		last := i
		for last+1 < len(all) && all[last+1] == all[last]+1 {
			last++
		}
		part := fmt.Sprint(all[i])
		if last > i {
			part = fmt.Sprintf("%d-%d", all[i], all[last])
		}
		parts, i = append(parts, part), last+1
	}
	return strings.Join(parts, ", ")
}
