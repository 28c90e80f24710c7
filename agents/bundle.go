package agents

import (
	"crypto/ed25519"
	"fmt"
	"io/fs"
	"slices"

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
	features, err := p.features()
	if err != nil {
		return b, "", fmt.Errorf("bundle policy %s: %w", p.Name, err)
	}
	m := checkpoints.Manifest{
		Name: p.Name, Created: created, Window: p.Window, Training: training, Encoder: p.Encoder,
		Features: features,
		Prior:    checkpoints.Prior{Name: p.Prior, Margin: p.Margin},
		Architecture: checkpoints.Architecture{
			Sizes: map[string]int{
				"width": p.Shape.Width, "heads": p.Shape.Heads, "hidden": p.Shape.Hidden, "rank": p.Shape.Rank, "kappa": p.Shape.Kappa,
				"inducing": p.Shape.Inducing,
			},
			Choices: map[string]string{"network": p.Shape.network(), "attention": p.Shape.Attention, "graph": p.Shape.Graph},
		},
	}
	if p.Wide.Items > 0 {
		m.Candidates = &checkpoints.Candidates{Set: wideSet, Items: p.Wide.Items, Rivals: p.Wide.Rivals}
	}
	tensors := append(p.Params.Tensors(), p.Range.Tensors()...)
	return checkpoints.Bundle{Manifest: m, Tensors: tensors}, card(p, &training), nil
}

// features returns the features of the policy's encoder.
func (p *Policy) features() (checkpoints.Features, error) {
	spec, err := p.observed()
	return checkpoints.Features{Server: spec.Server, Job: spec.Job, Offer: spec.Candidate, Global: spec.Global}, err
}

// Load reads a bundle. It returns an error with the reason if the bundle is damaged, or was made for observations or a network
// that this version does not have.
func Load(dir string) (*Policy, *checkpoints.Manifest, error) {
	b, err := checkpoints.ReadBundle(dir, checkpoints.Limits{})
	return build(b, err, "read policy "+dir)
}

// LoadSigned is Load for a signed bundle. It returns an error that wraps checkpoints.ErrUnsigned if the key has not signed the
// bundle.
func LoadSigned(dir string, key ed25519.PublicKey) (*Policy, *checkpoints.Manifest, error) {
	b, err := checkpoints.ReadSignedBundle(dir, key, checkpoints.Limits{})
	return build(b, err, "read policy "+dir)
}

// LoadFS is Load for a folder in any file system, such as an embedded one.
func LoadFS(fsys fs.FS) (*Policy, *checkpoints.Manifest, error) {
	b, err := checkpoints.ReadBundleFS(fsys, checkpoints.Limits{})
	return build(b, err, "read policy")
}

// build makes a policy from a bundle. The parameter err is the error of reading it; build returns err if it is not nil.
func build(b *checkpoints.Bundle, err error, doing string) (*Policy, *checkpoints.Manifest, error) {
	if err != nil {
		return nil, nil, err
	}
	p, err := fromBundle(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", doing, err)
	}
	return p, &b.Manifest, nil
}

func fromBundle(b *checkpoints.Bundle) (*Policy, error) {
	m := &b.Manifest
	got := m.Architecture.Choices["network"]
	if got != network && got != jointNetwork {
		return nil, fmt.Errorf("network %q, want %s or %s: %w", got, network, jointNetwork, checkpoints.ErrForeign)
	}
	sizes, choices := m.Architecture.Sizes, m.Architecture.Choices
	d := Design{
		Name: m.Name, Encoder: m.Encoder, Window: m.Window, Prior: m.Prior.Name, Margin: m.Prior.Margin,
		Size: Size{
			Width: sizes["width"], Heads: sizes["heads"], Hidden: sizes["hidden"], Rank: sizes["rank"], Kappa: sizes["kappa"],
			Inducing: sizes["inducing"], Attention: choices["attention"], Graph: choices["graph"], Joint: got == jointNetwork,
		},
	}
	if c := m.Candidates; c != nil {
		if c.Set != wideSet {
			return nil, fmt.Errorf("candidates %q, want %q: %w", c.Set, wideSet, checkpoints.ErrForeign)
		}
		d.Wide = Wide{c.Items, c.Rivals}
	}
	if err := sameFeatures(&d, &m.Features); err != nil {
		return nil, err
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

// sameFeatures returns an error if the features in a manifest differ from those of this program's encoder of the same name.
func sameFeatures(d *Design, got *checkpoints.Features) error {
	want, err := (&Policy{Encoder: d.Encoder, Window: d.Window, Wide: d.Wide}).features()
	if err != nil {
		return fmt.Errorf("%w: %w", err, checkpoints.ErrForeign)
	}
	for _, f := range []struct {
		name      string
		got, want []checkpoints.Feature
	}{
		{"server", got.Server, want.Server},
		{"job", got.Job, want.Job},
		{"offer", got.Offer, want.Offer},
		{"global", got.Global, want.Global},
	} {
		if !slices.Equal(f.got, f.want) {
			return fmt.Errorf("%s features %v, this version observes %v: %w", f.name, f.got, f.want, checkpoints.ErrForeign)
		}
	}
	return nil
}
