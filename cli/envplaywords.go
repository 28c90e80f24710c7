package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/phrase"
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
			Number: n, Kind: c.Kind.String(), Does: does(s, c), By: c.By, Wait: c.Wait.Seconds(), Saves: c.Saves.Seconds(),
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

// does describes what a candidate does.
func does(s *cluster.View, c *candidates.Candidate) string {
	var parts []string
	job := "the job"
	if c.Job >= 0 {
		job = s.Spec(c.Job).Name
	}
	switch c.Kind {
	case candidates.Veto:
		parts = append(parts, "stop nobody")
	case candidates.Drop:
		parts = append(parts, "give up the block that is held")
	case candidates.Rival:
		parts = append(parts, "as "+c.By)
	}
	for i := range c.Ops {
		parts = append(parts, operation(s, &c.Ops[i]))
	}
	if len(parts) > 0 {
		return strings.Join(parts, "; ")
	}
	text := c.Kind.About()
	switch c.Kind {
	case candidates.Own:
		text = "start nobody else"
	case candidates.Wait:
		text = "let " + job + " wait"
	case candidates.Stop:
		text = "start nobody now"
	case candidates.Reserve:
		text = "let " + job + " wait, hold servers for a gang"
	case candidates.Gather:
		text = "let " + job + " wait for fewer servers"
	}
	if c.Wait > 0 {
		text += ", for about " + phrase.Time(c.Wait)
	}
	return text
}

var verbs = map[cluster.OpKind]string{cluster.OpPlace: "start", cluster.OpResize: "resize", cluster.OpMigrate: "move"}

// operation describes what an operation does.
func operation(s *cluster.View, o *cluster.Proposal) string {
	switch o.Kind {
	case cluster.OpLoan:
		return "borrow " + s.Server(o.Server).Name
	case cluster.OpReclaim:
		return "give back " + s.Server(o.Server).Name
	case cluster.OpPreempt:
		return "stop " + s.Spec(o.Job).Name
	}
	return fmt.Sprintf("%s %s: %s (%s) on %s", verbs[o.Kind], s.Spec(o.Job).Name, phrase.Count(o.Placement.Workers(), "worker"),
		amounts(o.Placement, s.Spec(o.Job).Request), few(serverNames(s.Server, o.Placement)))
}

// amounts describes the resources of a placement: its GPUs, and its CPU and memory if they differ from the request.
func amounts(p cluster.Placement, asked cluster.Amount) string {
	text, other, cpu, mem := quantity(p.GPUs(), "GPU"), false, 0.0, 0.0
	for i := range p {
		a := &p[i]
		other = other || a.CPUMilli != asked.CPUMilli || a.MemMiB != asked.MemMiB
		cpu += float64(a.Workers) * float64(a.CPUMilli) / 1000
		mem += float64(a.Workers) * float64(a.MemMiB) / 1024
	}
	if other {
		text += fmt.Sprintf(", %s, %.4g GiB", quantity(cpu, "core"), mem)
	}
	return text
}

func serverNames(of func(cluster.ServerID) *cluster.ServerSpec, p cluster.Placement) []string {
	var names []string
	for i := range p {
		names = append(names, of(p[i].Server).Name)
	}
	return names
}

// few returns one or two names, or the first name and the number of others.
func few(names []string) string {
	if len(names) > 2 {
		return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
	}
	return strings.Join(names, ", ")
}

// quantity returns a number with four significant digits and its noun.
func quantity(n float64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatFloat(n, 'g', 4, 64) + " " + noun
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
		c.Job, c.Servers, c.GPUs = log.Jobs[r.Job].Name, serverNames(server, at), at.GPUs()
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
