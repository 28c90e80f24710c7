package cli

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/sim"
)

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

// playChange is an event between two rounds.
type playChange struct {
	At      float64  `json:"at_s"`
	What    string   `json:"what"` // the kind, as in an event log
	Job     string   `json:"job,omitempty"`
	Servers []string `json:"servers,omitempty"` // where the job runs after it, or the server that it is about
	GPUs    float64  `json:"gpus,omitempty"`    // GPUs of the job after it
	kind    sim.Kind
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

// openGPUs returns the number of GPUs of the servers that take training jobs.
func openGPUs(s *cluster.View) (n int64) {
	for i := range s.Servers() {
		if id := cluster.ServerID(i); s.Open(id) {
			n += int64(s.Server(id).GPUs)
		}
	}
	return n
}

// changeOf converts a record of the log.
func changeOf(log *sim.Log, r *sim.Record) playChange {
	c := playChange{At: r.At.Seconds(), What: r.Kind.String(), kind: r.Kind}
	server := func(id cluster.ServerID) *cluster.ServerSpec { return &log.Config.Cluster.Servers[id] }
	switch r.Kind {
	case sim.Loan, sim.Reclaim, sim.Seize, sim.Fail, sim.Repair:
		c.Servers = []string{server(r.Server).Name}
	case sim.Need, sim.End:
	default:
		at := log.Placement(r)
		c.Job, c.Servers, c.GPUs = log.Jobs[r.Job].Name, at.Names(server), at.GPUs()
	}
	return c
}

// happened lists the kinds of changes with the text before the list of changes, in the order of display.
var happened = [...]struct {
	kind sim.Kind
	text string
}{
	{sim.Finish, "finished"}, {sim.Submit, "came"}, {sim.Interrupt, "interrupted"}, {sim.Fail, "failed"}, {sim.Repair, "repaired"},
	{sim.Need, "changes of inference demand"}, {sim.Seize, "seized"}, {sim.Preempt, "stopped"}, {sim.Start, "started"},
	{sim.Resize, "resized"}, {sim.Migrate, "moved"}, {sim.Loan, "borrowed"}, {sim.Reclaim, "given back"},
}

// instant formats a simulated time, rounded to a second.
func instant(d time.Duration) string { return d.Round(time.Second).String() }
