package agents

import (
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env"
)

// priorName is how a manifest calls the prior that this package knows.
const priorName = "sjfhold"

// Save writes the policy as a bundle: a folder with its weights and a manifest that says what every number means. created and
// training are kept as given.
func Save(dir string, p *Policy, created string, training checkpoints.Provenance) error {
	spec := p.Encoder().Spec(1)
	m := checkpoints.Manifest{
		Name: p.Name, Created: created, Window: p.Window, Training: training,
		Features: checkpoints.Features{
			Server: features(spec.Server), Job: features(spec.Job), Item: features(spec.Item), Global: features(spec.Global),
		},
		Prior: checkpoints.Prior{Name: priorName, Hold: p.Hold},
		Architecture: checkpoints.Architecture{
			Sizes: map[string]int{
				"width": p.Shape.Width, "heads": p.Shape.Heads, "hidden": p.Shape.Hidden, "rank": p.Shape.Rank, "kappa": p.Shape.Kappa,
				"inducing": p.Shape.Inducing,
			},
			Choices: map[string]string{"network": network},
		},
	}
	for _, l := range p.Menu {
		m.Menu = append(m.Menu, checkpoints.Level(l))
	}
	return checkpoints.WriteBundle(dir, m, p.Params.Tensors())
}

// network names the computation of Net.Forward. A change to it that old weights do not survive needs another name.
const network = "server-job-attention-2"

// Load reads a bundle. One that is damaged, or made for observations or a network that this version does not have, is refused
// with the reason.
func Load(dir string) (*Policy, *checkpoints.Manifest, error) {
	b, err := checkpoints.ReadBundle(dir, checkpoints.Limits{})
	if err != nil {
		return nil, nil, err
	}
	p, err := fromBundle(b)
	if err != nil {
		return nil, nil, fmt.Errorf("read policy %s: %w", dir, err)
	}
	return p, &b.Manifest, nil
}

func fromBundle(b *checkpoints.Bundle) (*Policy, error) {
	m := &b.Manifest
	if got := m.Architecture.Choices["network"]; got != network {
		return nil, fmt.Errorf("network %q, want %q: %w", got, network, checkpoints.ErrForeign)
	}
	if m.Prior.Name != priorName || !(m.Prior.Hold >= 0 && m.Prior.Hold <= math.MaxFloat32) {
		return nil, fmt.Errorf("prior %s(%v), want %s with a bound of 0 or more: %w", m.Prior.Name, m.Prior.Hold, priorName,
			checkpoints.ErrForeign)
	}
	if m.Window < 1 || m.Window > maxWindow || len(m.Menu) < 1 || len(m.Menu) > maxMenu {
		return nil, fmt.Errorf("window of %d jobs and %d levels, want 1 to %d and 1 to %d: %w", m.Window, len(m.Menu), maxWindow,
			maxMenu, checkpoints.ErrForeign)
	}
	p := &Policy{Name: m.Name, Window: m.Window, Hold: m.Prior.Hold}
	for _, l := range m.Menu {
		if !(l.GPUShare > 0 && l.GPUShare <= 16 && l.CPU >= 0 && l.CPU <= 16 && l.Memory >= 0 && l.Memory <= 16) {
			return nil, fmt.Errorf("menu level %+v, want shares above 0 and at most 16: %w", l, checkpoints.ErrForeign)
		}
		p.Menu = append(p.Menu, env.Level(l))
	}
	spec := p.Encoder().Spec(1)
	for _, f := range []struct {
		name string
		got  []checkpoints.Feature
		want []env.Feature
	}{
		{"server", m.Features.Server, spec.Server},
		{"job", m.Features.Job, spec.Job},
		{"item", m.Features.Item, spec.Item},
		{"global", m.Features.Global, spec.Global},
	} {
		if want := features(f.want); !slices.Equal(f.got, want) {
			return nil, fmt.Errorf("%s features %v, this version observes %v: %w", f.name, f.got, want, checkpoints.ErrForeign)
		}
	}
	sizes := m.Architecture.Sizes
	var err error
	p.Shape, err = NewShape(&spec, Size{
		Width: sizes["width"], Heads: sizes["heads"], Hidden: sizes["hidden"], Rank: sizes["rank"], Kappa: sizes["kappa"],
		Inducing: sizes["inducing"],
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, checkpoints.ErrForeign)
	}
	p.Params, err = FromTensors(p.Shape, b.Tensors)
	return p, err
}

// Bounds on what a bundle may ask for.
const (
	maxWindow = 1 << 10
	maxMenu   = 1 << 6
)

func features(list []env.Feature) []checkpoints.Feature {
	out := make([]checkpoints.Feature, len(list))
	for i, f := range list {
		out[i] = checkpoints.Feature(f)
	}
	return out
}
