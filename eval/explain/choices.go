package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env/cluster"
)

// Choice is one choice of a learned team among candidates, with names in place of numbers.
type Choice struct {
	Number int `json:"number"` // within the decision, from 1
	// LeftToPrior reports whether the team left the choice to its prior, because the state is unlike those of its training.
	LeftToPrior bool        `json:"left_to_prior,omitempty"`
	Candidates  []Candidate `json:"candidates"` // the prior's own first
	// Attention is how much each job that candidates are about attends to the servers, by the name of the job: in the first layer of
	// the network that reads servers. Over all servers the weights of a job sum to 1.
	Attention map[string][]Attended `json:"attention,omitempty"`
}

// Candidate is a candidate of a choice.
type Candidate struct {
	Number  int      `json:"number"` // from 1
	Kind    string   `json:"kind"`
	Job     string   `json:"job,omitempty"` // that it is about
	Jobs    []string `json:"-"`             // that its operations are about
	Does    string   `json:"does"`
	Servers []string `json:"servers"` // that bid for it: all others are masked, and can only pass
	// Masked reports whether no server may name it: it was carried out already, or no longer fits.
	Masked bool `json:"masked,omitempty"`
	// Bid is what the network computes for it, of which Payoff comes from edges of the coordination graph. Total is the bid, less
	// Margin: what the bid of a candidate that is not the prior's choice must exceed the prior's by. The highest Total wins.
	Bid    float64 `json:"bid"`
	Payoff float64 `json:"payoff"`
	Margin float64 `json:"margin,omitempty"`
	Total  float64 `json:"total"`
	Edges  []Edge  `json:"edges,omitempty"` // the largest parts of Payoff, by their size
	Prior  bool    `json:"prior,omitempty"` // the prior's choice
	Taken  bool    `json:"taken,omitempty"`
}

// Edge is what an edge of the coordination graph adds to a candidate's bid: an edge between two servers, the same one twice for
// what a server adds alone, or between two candidates, of which From was carried out before.
type Edge struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	Payoff float64 `json:"payoff"`
}

// Attended is a server with the weight that a job gives it.
type Attended struct {
	Server string  `json:"server"`
	Weight float64 `json:"weight"`
}

// Most of what is listed of a choice.
const (
	mostEdges    = 5 // of a candidate
	mostAttended = 5 // servers of a job
)

// Choices collects the choices of a team: let agents.Team.Record call Add.
type Choices struct{ All []Choice }

// Add adds a choice.
func (c *Choices) Add(tx *cluster.Txn, made *agents.Choice) error {
	s := tx.View()
	out := Choice{Number: len(c.All) + 1, LeftToPrior: made.Unknown, Attention: map[string][]Attended{}}
	for i := range made.List {
		out.Candidates = append(out.Candidates, candidateOf(s, made, i))
	}
	for row, id := range made.Ids {
		name := s.Spec(id).Name
		if out.about(name) {
			out.Attention[name] = attended(s, made, row)
		}
	}
	c.All = append(c.All, out)
	return nil
}

func candidateOf(s *cluster.View, made *agents.Choice, i int) Candidate {
	c := &made.List[i]
	out := Candidate{
		Number: i + 1, Kind: c.Kind.String(), Does: c.Does(s), Servers: []string{}, Masked: made.Gone[i], Bid: float64(made.Bids[i]),
		Taken: i == made.Action,
	}
	if c.Job >= 0 {
		out.Job = s.Spec(c.Job).Name
		out.Jobs = append(out.Jobs, out.Job)
	}
	for k := range c.Ops {
		if o := &c.Ops[k]; o.Kind != cluster.OpLoan && o.Kind != cluster.OpReclaim {
			if name := s.Spec(o.Job).Name; !slices.Contains(out.Jobs, name) {
				out.Jobs = append(out.Jobs, name)
			}
		}
	}
	for _, m := range c.Members {
		out.Servers = append(out.Servers, s.Server(m.Server).Name)
	}
	if out.Prior = i == made.Usual; !out.Prior && !out.Masked {
		out.Margin = -float64(made.Prior[i])
	}
	out.Total = out.Bid - out.Margin
	if !made.Unknown {
		out.pays(s, made, i)
	}
	return out
}

// pays fills in the payoffs.
func (out *Candidate) pays(s *cluster.View, made *agents.Choice, i int) {
	between := func(k int32) string {
		if made.Joint {
			return fmt.Sprintf("candidate %d", k+1)
		}
		return s.Server(cluster.ServerID(k)).Name
	}
	edges := merged(made.Edges(i))
	for _, e := range edges {
		out.Payoff += float64(e.Payoff)
	}
	slices.SortStableFunc(edges, func(a, b agents.Edge) int {
		return cmp.Compare(math.Abs(float64(b.Payoff)), math.Abs(float64(a.Payoff)))
	})
	for _, e := range edges[:min(len(edges), mostEdges)] {
		if e.Payoff != 0 {
			out.Edges = append(out.Edges, Edge{between(e.From), between(e.To), float64(e.Payoff)})
		}
	}
}

// merged adds up the two directions of each edge.
func merged(edges []agents.Edge) (all []agents.Edge) {
	for _, e := range edges {
		back := slices.IndexFunc(all, func(o agents.Edge) bool { return o.From == e.To && o.To == e.From })
		if back >= 0 {
			all[back].Payoff += e.Payoff
			continue
		}
		all = append(all, e)
	}
	return all
}

// attended returns the servers to which a job attends most.
func attended(s *cluster.View, made *agents.Choice, job int) []Attended {
	weights := make([]float32, made.Observation.Servers)
	made.Attention(weights, job)
	all := make([]Attended, len(weights))
	for i, w := range weights {
		all[i] = Attended{s.Server(cluster.ServerID(i)).Name, float64(w)}
	}
	slices.SortStableFunc(all, func(a, b Attended) int { return cmp.Compare(b.Weight, a.Weight) })
	return all[:min(len(all), mostAttended)]
}

// about reports whether a candidate is about a job.
func (c *Choice) about(job string) bool {
	return slices.ContainsFunc(c.Candidates, func(c Candidate) bool { return slices.Contains(c.Jobs, job) })
}

// About returns the choices in which a candidate is about a job.
func About(all []Choice, job string) (some []Choice) {
	for i := range all {
		if all[i].about(job) {
			some = append(some, all[i])
		}
	}
	return some
}
