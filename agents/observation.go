package agents

import (
	"slices"

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
}
