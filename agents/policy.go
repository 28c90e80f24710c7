package agents

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/objectives"
)

// Policy is a trained team without a cluster: it can decide on clusters with any number of servers.
type Policy struct {
	Name   string
	Shape  Shape
	Params Params
	Setting
	// Margin is how much the bid for another candidate must exceed the bid for the prior's own to be taken; 0 or more.
	Margin float64
	// Range contains the feature ranges met in training. For observations too far outside it, the policy takes the prior's own
	// choice.
	Range Range
}

// The defaults of a policy.
const (
	DefaultPrior  = "srsf+menu+move"
	DefaultWindow = 32
	DefaultMargin = 1.0
)

// Design is everything in a policy except its weights and its Range.
type Design struct {
	Name      string
	Encoder   string // see Policy
	Costs     bool   // see Setting, also for Objective
	Objective *objectives.Objective
	Window    int
	Prior     string
	Table     baselines.Table // that has the prior and the rivals
	Wide      Wide
	Margin    float64
	Size      Size
}

// NewPolicy returns an untrained policy with the standard encoder and the default margin. It decides as the prior, and has random
// initial weights for training.
func NewPolicy(name string, size Size, window int, prior string, r *rand.Rand) (*Policy, error) {
	d := Design{Name: name, Window: window, Prior: prior, Margin: DefaultMargin, Size: size}
	p, err := d.Make(func(s Shape) (Params, error) { return Init(s, r), nil })
	if err != nil {
		return nil, fmt.Errorf("make policy %s: %w", name, err)
	}
	return p, nil
}

// Make returns a policy of this design, with weights from the given function. It returns an error if this program does not have
// the encoder or the prior.
func (d *Design) Make(weights func(Shape) (Params, error)) (*Policy, error) {
	s := Setting{
		Window: d.Window, Encoder: d.Encoder, Costs: d.Costs, Objective: d.Objective, Prior: d.Prior, Table: d.Table, Wide: d.Wide,
	}
	p := &Policy{Name: d.Name, Setting: s, Margin: d.Margin}
	if !(p.Margin >= 0 && p.Margin <= math.MaxFloat32) {
		return nil, fmt.Errorf("margin %v, want 0 or more", p.Margin)
	}
	if err := p.ready(); err != nil {
		return nil, err
	}
	f, err := p.features()
	if err != nil {
		return nil, err
	}
	if p.Shape, err = NewShape(len(f.Server), len(f.Job), len(f.Offer), len(f.Global), d.Size); err != nil {
		return nil, err
	}
	if p.Params, err = weights(p.Shape); err != nil {
		return nil, err
	}
	return p, nil
}

// Design returns the design of the policy: with the same weights, Make returns an equal policy without a Range.
func (p *Policy) Design() Design {
	return Design{
		Name: p.Name, Encoder: p.Encoder, Costs: p.Costs, Objective: p.Objective, Window: p.Window, Prior: p.Prior, Table: p.Table,
		Wide: p.Wide, Margin: p.Margin, Size: p.Shape.size(),
	}
}

// Digest returns a hash of everything that affects the policy's decisions; it does not include the name.
func (p *Policy) Digest() string {
	h := sha256.New()
	// JSON separates the fields. Neither JSON nor a hash returns an error for finite numbers.
	all := []any{p.Shape.network(), p.Shape, p.Window, p.Prior, p.Margin, p.Range}
	if p.Encoder != "" {
		all = append(all, p.Encoder)
	}
	if costs, ok := p.digested(); ok {
		all = append(all, costs)
	}
	if p.Wide.Items > 0 {
		all = append(all, wideSet, p.Wide)
	}
	_ = json.NewEncoder(h).Encode(all)
	for _, t := range p.Params.Tensors() {
		_ = binary.Write(h, binary.LittleEndian, t.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}
