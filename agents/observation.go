package agents

import (
	"slices"

	"github.com/clustergym/clustergym/env"
)

// Observation is a time step as the network reads it: global features joined to every row, and a token for each job of the
// window at each level of the menu.
type Observation struct {
	Servers, Tokens int
	Server          []float32 // [Servers][Shape.Server]
	Token           []float32 // [Tokens][Shape.Token]
	Item            []float32 // [Servers*Tokens][Shape.Item]
	ServerMask      []float32 // [Servers] 1
	TokenMask       []float32 // [Tokens] 1 where there is a job
	Active          []bool    // [Servers] where any item is legal
}

// Fill reads a time step. It allocates nothing once the slices have grown.
func (o *Observation) Fill(spec *env.Spec, ts *env.TimeStep) {
	levels, jobs, actions := len(spec.Menu), len(spec.Job), spec.Actions()
	o.Servers, o.Tokens = spec.Agents, spec.Items()
	o.Server, o.Token = o.Server[:0], o.Token[:0]
	o.ServerMask, o.TokenMask, o.Active = o.ServerMask[:0], o.TokenMask[:0], o.Active[:0]
	for i := range spec.Agents {
		o.Server = append(o.Server, ts.Servers[i*len(spec.Server):(i+1)*len(spec.Server)]...)
		o.Server = append(o.Server, ts.Global...)
		o.ServerMask = append(o.ServerMask, 1)
		o.Active = append(o.Active, slices.Contains(ts.Mask[i*actions+1:(i+1)*actions], true))
	}
	for k, id := range ts.Window {
		for l := range levels {
			o.Token = append(o.Token, ts.Jobs[k*jobs:(k+1)*jobs]...)
			level := &spec.Menu[l]
			o.Token = append(o.Token, float32(level.GPUShare), float32(level.CPU), float32(level.Memory))
			o.Token = append(o.Token, ts.Global...)
			present := float32(0)
			if id >= 0 {
				present = 1
			}
			o.TokenMask = append(o.TokenMask, present)
		}
	}
	o.Item = append(o.Item[:0], ts.Items...)
}

// Clone returns an independent copy.
func (o *Observation) Clone() Observation {
	c := *o
	c.Server, c.Token, c.Item = slices.Clone(o.Server), slices.Clone(o.Token), slices.Clone(o.Item)
	c.ServerMask, c.TokenMask, c.Active = slices.Clone(o.ServerMask), slices.Clone(o.TokenMask), slices.Clone(o.Active)
	return c
}
