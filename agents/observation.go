package agents

import (
	"slices"

	"github.com/clustergym/clustergym/env"
)

// Observation is one choice among offers as the network reads it: rows of servers and of jobs, global features joined to
// both, rows of offers, and who takes part in which.
type Observation struct {
	Servers, Jobs, Offers int
	Server                []float32 // [Servers][Shape.Server]
	Job                   []float32 // [Jobs][Shape.Job]
	Offer                 []float32 // [Offers][Shape.Offer]
	Shares                []Share   // ascending by offer, then server; an offer's weights sum to 1, unless it has no servers
	Of                    []int32   // [Offers] row of its job in Job, -1 for none
}

// Share is a server's part in an offer.
type Share struct {
	Offer, Server int32
	Weight        float32
}

// Clone returns an independent copy.
func (o *Observation) Clone() Observation {
	c := *o
	c.Server, c.Job, c.Offer = slices.Clone(o.Server), slices.Clone(o.Job), slices.Clone(o.Offer)
	c.Shares, c.Of = slices.Clone(o.Shares), slices.Clone(o.Of)
	return c
}

// fill reads what was reviewed. It allocates nothing once the slices have grown.
func (o *Observation) fill(r *env.Review) {
	join := func(dst, rows []float32, n int) []float32 {
		dst = dst[:0]
		for width := len(rows) / max(n, 1); len(rows) > 0; rows = rows[width:] {
			dst = append(dst, rows[:width]...)
			dst = append(dst, r.Global...)
		}
		return dst
	}
	o.Jobs, o.Offers = len(r.Ids), len(r.Of)
	o.Servers = len(r.Servers) / serverWidth
	o.Server, o.Job = join(o.Server, r.Servers, o.Servers), join(o.Job, r.Jobs, o.Jobs)
	o.Offer, o.Of = append(o.Offer[:0], r.Offers...), append(o.Of[:0], r.Of...)
	o.Shares = o.Shares[:0]
	for _, s := range r.Shares {
		o.Shares = append(o.Shares, Share(s))
	}
}

// serverWidth is the features of a server.
var serverWidth = len(env.NewEncoder().Spec(1).Server)
