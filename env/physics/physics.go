// Package physics says how fast a job runs under a placement. A model reads the state and never changes it; the simulator
// asks it whenever a placement changes, and asks again for the jobs that the change may slow or speed up, so that completion
// times are exact.
//
// A model is a product of parts, each of which is one influence on speed and can be left out. Every part is 1 for a job that
// runs alone, with what it asked for, on reference hardware, well placed.
package physics

import (
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
)

// Model gives the speed of a running job: work per time, always above 0. It must depend on the state alone and be safe for
// concurrent use.
type Model interface {
	// Name is what Parse reads back, for the models that it knows.
	Name() string
	cluster.Profile
}

// Part is one influence on speed. Factor is above 0.
type Part interface {
	Name() string
	Factor(s *cluster.View, job cluster.JobID) float64
	Coupled(s *cluster.View, p cluster.Placement, dst []cluster.JobID) []cluster.JobID
}

// alone is embedded by parts that look at no other job.
type alone struct{}

// Coupled implements Part.
func (alone) Coupled(_ *cluster.View, _ cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return dst
}

// Ideal runs every job in proportion to the GPU share it holds of what it asked for, wherever its workers are.
func Ideal() Model { return product{} }

// Compose returns the model in which every part slows or speeds a job up beside the ideal model: its speed is the ideal one
// times all factors. With Sharing among the parts, a share of a GPU admits a job and does not cap it, see there.
func Compose(parts ...Part) Model {
	m := product{parts: parts}
	for _, p := range parts {
		if _, ok := p.(Sharing); ok {
			m.sliced = true
		}
	}
	return m
}

// Profiled returns what may be known of a model before a job runs: the model without Jitter. A model that Compose did not make
// is returned as it is.
func Profiled(m Model) Model {
	p, ok := m.(product)
	if !ok {
		return m
	}
	known := product{sliced: p.sliced}
	for _, part := range p.parts {
		if _, secret := part.(Jitter); !secret {
			known.parts = append(known.parts, part)
		}
	}
	return known
}

type product struct {
	parts  []Part
	sliced bool // GPUs are time-sliced: Sharing is among the parts
}

// Name implements Model.
func (m product) Name() string {
	if len(m.parts) == 0 {
		return "ideal"
	}
	names := make([]string, len(m.parts))
	for i, p := range m.parts {
		names[i] = p.Name()
	}
	return strings.Join(names, " * ")
}

// Speed implements Model.
func (m product) Speed(s *cluster.View, job cluster.JobID) float64 {
	speed := m.share(s, job)
	for _, p := range m.parts {
		speed *= p.Factor(s, job)
	}
	return speed
}

// Coupled implements Model.
func (m product) Coupled(s *cluster.View, p cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	for _, part := range m.parts {
		dst = part.Coupled(s, p, dst)
	}
	return dst
}

func (m product) share(s *cluster.View, job cluster.JobID) float64 {
	p, spec := s.Placement(job), s.Spec(job)
	if m.sliced {
		if w := p.Workers(); w != spec.Workers {
			return float64(w) / float64(spec.Workers)
		}
		return 1
	}
	held, want := p.GPUs(), spec.GPUs()
	if held == want {
		return 1
	}
	return held / want
}
