package agents

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
)

// Observation is the network's input for one choice among candidates: a row for each server and each job, joined with the global
// features, a row for each candidate, and the servers and the job of each candidate.
type Observation struct {
	Servers, Jobs, Candidates int
	Server                    []float32 // [Servers][Shape.Server]
	Job                       []float32 // [Jobs][Shape.Job]
	Candidate                 []float32 // [Candidates][Shape.Candidate]
	Shares                    []Share   // ascending by candidate, then server; the weights of a candidate with servers sum to 1
	Of                        []int32   // [Candidates] row in Job of each candidate's job, -1 for none

	// What ties candidates together. Equal numbers stand for the same rack, GPU type or tenant, 0 for none; a nil list contains
	// zeros.
	Rack, Type []int32 // [Servers]
	Tenant     []int32 // [Jobs]
	Taken      []int32 // the candidates that were carried out already at this decision, in this order
}

// Share is the part of one server in a candidate's coalition.
type Share struct {
	Candidate, Server int32
	Weight            float32
}

// Clone returns an independent copy.
func (o *Observation) Clone() Observation {
	c := *o
	c.Server, c.Job, c.Candidate = slices.Clone(o.Server), slices.Clone(o.Job), slices.Clone(o.Candidate)
	c.Shares, c.Of = slices.Clone(o.Shares), slices.Clone(o.Of)
	c.Rack, c.Type, c.Tenant, c.Taken = slices.Clone(o.Rack), slices.Clone(o.Type), slices.Clone(o.Tenant), slices.Clone(o.Taken)
	return c
}

// fill reads from a round the candidates at the given places of its list. A candidate that only waits has no servers here. fill
// does not allocate once the slices have grown.
func (o *Observation) fill(r *game.Round, places []int) {
	spec := r.Spec()
	join := func(dst, rows []float32, width int) []float32 {
		dst = dst[:0]
		for ; len(rows) > 0; rows = rows[width:] {
			dst = append(dst, rows[:width]...)
			dst = append(dst, r.Global...)
		}
		return dst
	}
	o.Servers, o.Jobs, o.Candidates = spec.Agents, len(r.Ids), len(places)
	o.Server = join(o.Server, r.Servers, len(spec.Server))
	o.Job = join(o.Job, r.Jobs[:o.Jobs*len(spec.Job)], len(spec.Job))
	width := len(spec.Candidate)
	o.Candidate, o.Of, o.Shares = o.Candidate[:0], o.Of[:0], o.Shares[:0]
	for at, k := range places {
		row := (1 + k) * width // the first row is that of game.Pass
		o.Candidate = append(o.Candidate, r.Candidates[row:row+width]...)
		o.Of = append(o.Of, r.Of[k])
		if len(r.List[k].Ops) == 0 {
			continue
		}
		for _, s := range r.Members(game.Action(k + 1)) {
			o.Shares = append(o.Shares, Share{int32(at), s.Server, s.Weight})
		}
	}
	o.Taken = o.Taken[:0]
}

// tie reads what ties candidates together.
func (o *Observation) tie(v *cluster.View, r *game.Round, types, tenants *numbers) {
	o.Rack, o.Type, o.Tenant = o.Rack[:0], o.Type[:0], o.Tenant[:0]
	types.names, tenants.names = types.names[:0], tenants.names[:0]
	for i := range o.Servers {
		server := v.Server(cluster.ServerID(i))
		o.Rack, o.Type = append(o.Rack, server.Rack), append(o.Type, types.of(server.GPUType))
	}
	for _, id := range r.Ids {
		o.Tenant = append(o.Tenant, tenants.of(v.Spec(id).Tenant))
	}
}

// numbers gives names the numbers 1, 2 and so on, in the order in which they first occur, and "" the number 0.
type numbers struct{ names []string }

func (n *numbers) of(name string) int32 {
	if name == "" {
		return 0
	}
	i := slices.Index(n.names, name)
	if i < 0 {
		i = len(n.names)
		n.names = append(n.names, name)
	}
	return int32(i + 1)
}
