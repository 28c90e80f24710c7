package agents

import (
	"fmt"
	"io/fs"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
)

// The networks. The name identifies the computation of Net.Forward and the way candidates are found. Change it with any change
// after which old weights no longer work.
const (
	network      = "server-offer-attention-1"
	jointNetwork = "server-candidate-attention-1" // with Shape.Joint
)

func (s *Shape) network() string {
	if s.Joint {
		return jointNetwork
	}
	return network
}

// Bundle returns the policy as a bundle that Load can read, without the ONNX model, and its model card in Markdown. It stores
// created and training unchanged. Package agents/export adds the model and writes the bundle to a folder.
func (p *Policy) Bundle(created string, training checkpoints.Provenance) (b checkpoints.Bundle, about string, err error) {
	m, err := p.manifest(p.Name, created, training)
	if err != nil {
		return b, "", err
	}
	m.Prior.Margin = p.Margin
	m.Architecture = checkpoints.Architecture{
		Sizes: map[string]int{
			"width": p.Shape.Width, "heads": p.Shape.Heads, "hidden": p.Shape.Hidden, "rank": p.Shape.Rank, "kappa": p.Shape.Kappa,
			"inducing": p.Shape.Inducing,
		},
		Choices: map[string]string{"network": p.Shape.network(), "attention": p.Shape.Attention, "graph": p.Shape.Graph},
	}
	tensors := append(p.Params.Tensors(), p.Range.Tensors()...)
	return checkpoints.Bundle{Manifest: m, Tensors: tensors}, card(p, &training), nil
}

// Load reads a bundle whose prior is in package baselines; FromBundle takes any table. It returns an error with the reason if the
// bundle is damaged, or was made for observations or a network that this version does not have.
func Load(dir string) (*Policy, *checkpoints.Manifest, error) {
	return loaded(checkpoints.ReadBundle(dir, checkpoints.Limits{}))
}

// LoadFS is Load for a folder in any file system, such as an embedded one.
func LoadFS(fsys fs.FS) (*Policy, *checkpoints.Manifest, error) {
	return loaded(checkpoints.ReadBundleFS(fsys, checkpoints.Limits{}))
}

func loaded(b *checkpoints.Bundle, err error) (*Policy, *checkpoints.Manifest, error) {
	if err != nil {
		return nil, nil, err
	}
	p, err := FromBundle(b, baselines.Table{})
	if err != nil {
		return nil, nil, fmt.Errorf("read policy %s: %w", b.Manifest.Name, err)
	}
	return p, &b.Manifest, nil
}

// FromBundle returns the policy in a bundle that was read, with its prior from a table. The policy owns the bundle's tensors.
func FromBundle(b *checkpoints.Bundle, t baselines.Table) (*Policy, error) {
	m := &b.Manifest
	got := m.Architecture.Choices["network"]
	if got != network && got != jointNetwork {
		return nil, fmt.Errorf("network %q, want %s or %s: %w", got, network, jointNetwork, checkpoints.ErrForeign)
	}
	s, err := settingFrom(m, t)
	if err != nil {
		return nil, err
	}
	sizes, choices := m.Architecture.Sizes, m.Architecture.Choices
	d := Design{
		Name: m.Name, Encoder: s.Encoder, Costs: s.Costs, Objective: s.Objective, Window: s.Window, Prior: s.Prior, Table: t,
		Wide: s.Wide, Margin: m.Prior.Margin,
		Size: Size{
			Width: sizes["width"], Heads: sizes["heads"], Hidden: sizes["hidden"], Rank: sizes["rank"], Kappa: sizes["kappa"],
			Inducing: sizes["inducing"], Attention: choices["attention"], Graph: choices["graph"], Joint: got == jointNetwork,
		},
	}
	p, err := d.Make(func(s Shape) (Params, error) { return FromTensors(s, b.Tensors) })
	if err == nil {
		p.Range, err = RangeFrom(p.Shape, b.Tensors)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, checkpoints.ErrForeign)
	}
	return p, nil
}
