// Package physics computes how fast a job runs under a placement. A model reads the state and never changes it. The simulator
// calls the model for a job whenever its placement changes, and for all other jobs whose speed the change may affect, so that
// completion times are exact.
//
// A model is a product of parts. Each part is one influence on speed and can be left out. Every part is 1 for a job that runs
// alone, with what it asked for, on reference hardware, under a good placement.
package physics

import (
	"iter"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
)

// Model computes the speed of a running job: work per time, always above 0. The speed must depend on the state alone. A Model
// must be safe for concurrent use.
type Model interface {
	// Name returns a text from which Parse makes the same model, if it is one that Parse can make.
	Name() string
	cluster.Profile
}

// Part is one influence on speed. Factor returns a number above 0 by which the speed is multiplied. Coupled appends to dst the
// jobs whose factor may change when a job takes or leaves the placement.
type Part interface {
	Name() string
	Factor(s *cluster.View, job cluster.JobID) float64
	Coupled(s *cluster.View, p cluster.Placement, dst []cluster.JobID) []cluster.JobID
}

// precise is a Part that knows more exactly than by Coupled which factors a running job has changed; see cluster.Precise.
type precise interface {
	affected(s *cluster.View, job cluster.JobID, dst []cluster.JobID) []cluster.JobID
}

// alone is embedded by parts whose factor does not depend on other jobs.
type alone struct{}

// Coupled implements Part.
func (alone) Coupled(_ *cluster.View, _ cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return dst
}

// Ideal returns the model in which a job's speed is the GPU share that it holds, divided by the share that it asked for. It does
// not depend on where the workers are.
func Ideal() Model { return product{} }

// Compose returns the model whose speed is that of the ideal model times the factors of all parts. If Sharing is among the parts,
// a share of a GPU admits a job but does not limit its speed; see Sharing.
func Compose(parts ...Part) Model {
	m := product{parts: parts}
	for _, p := range parts {
		if _, ok := p.(Sharing); ok {
			m.sliced = true
		}
	}
	return m
}

// Profiled returns the part of a model that may be known before a job runs: the model without Jitter. It returns a model that
// Compose did not make unchanged.
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
	sliced bool // GPUs are time-sliced, because Sharing is among the parts
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

// Affected implements cluster.Precise.
func (m product) Affected(s *cluster.View, job cluster.JobID, dst []cluster.JobID) []cluster.JobID {
	for _, part := range m.parts {
		if p, ok := part.(precise); ok {
			dst = p.affected(s, job, dst)
		} else {
			dst = part.Coupled(s, s.Placement(job), dst)
		}
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

// racks yields the racks of a placement's servers. It may yield a rack again after another one.
func racks(s *cluster.View, p cluster.Placement) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		last := int32(0)
		for i := range p {
			rack := s.Server(p[i].Server).Rack
			if rack == last {
				continue
			}
			if last = rack; rack > 0 && !yield(rack) {
				return
			}
		}
	}
}
