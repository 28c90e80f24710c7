package agents

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/baselines/review"
	"github.com/clustergym/clustergym/env"
)

// Policy is what a trained team consists of apart from a cluster: it decides on clusters of any number of servers.
type Policy struct {
	Name   string
	Shape  Shape
	Params Params
	Window int // jobs shown beside those that offers are about
	// Prior names the baseline whose proposals the team reviews, as baselines.New does.
	Prior string
	// Margin is by how much the bid for another offer must exceed that for what the prior would do, 0 or more.
	Margin float64
	// Range is what training has met. Of choices too far beyond it the prior's own is taken.
	Range Range

	review baselines.Review
}

// The defaults of a policy.
const (
	DefaultPrior  = "srsf+menu+move"
	DefaultWindow = 32
	DefaultMargin = 1.0
)

// NewPolicy returns an untrained policy with the default margin: the prior, with the weights it would start to train from.
func NewPolicy(name string, size Size, window int, prior string, r *rand.Rand) (*Policy, error) {
	p, err := Restore(name, size, window, prior, DefaultMargin, func(s Shape) (Params, error) { return Init(s, r), nil })
	if err != nil {
		return nil, fmt.Errorf("make policy %s: %w", name, err)
	}
	return p, nil
}

// Restore returns a policy with these weights, as it was stored.
func Restore(
	name string, size Size, window int, prior string, margin float64, weights func(Shape) (Params, error),
) (*Policy, error) {
	spec := env.NewEncoder().Spec(1)
	shape, err := NewShape(len(spec.Server), len(spec.Job), len(env.OfferFeatures()), len(spec.Global), size)
	if err != nil {
		return nil, err
	}
	p := &Policy{Name: name, Shape: shape, Window: window, Prior: prior, Margin: margin}
	if p.Params, err = weights(shape); err != nil {
		return nil, err
	}
	if err := p.ready(); err != nil {
		return nil, err
	}
	return p, nil
}

// ready checks what is not of the network, and prepares the review.
func (p *Policy) ready() (err error) {
	if p.Window < 1 || p.Window > maxWindow {
		return fmt.Errorf("window of %d jobs, want 1 to %d", p.Window, maxWindow)
	}
	if !(p.Margin >= 0 && p.Margin <= math.MaxFloat32) {
		return fmt.Errorf("margin %v, want 0 or more", p.Margin)
	}
	// An option may name a file, and a policy must not read what it likes.
	if strings.ContainsAny(p.Prior, `/\`) || strings.Contains(p.Prior, predict.Extension) {
		return fmt.Errorf("prior %q, want a baseline without files", p.Prior)
	}
	if p.review, err = baselines.Reviewed(p.Prior); err != nil {
		return fmt.Errorf("prior: %w", err)
	}
	return nil
}

// maxWindow bounds what a bundle may ask for.
const maxWindow = 1 << 10

// Offers is how many there are to choose from, at most.
func (p *Policy) Offers() int { return 1 + p.review.Items }

// PlayOn returns the prior as it is to be played on after an offer.
func (p *Policy) PlayOn() *review.Guard {
	return review.NewGuard(p.review.Play(), p.review.Start(), nil)
}

// Digest identifies what the policy decides by, its name apart.
func (p *Policy) Digest() string {
	h := sha256.New()
	// JSON parts the fields; neither it nor a hash can fail on numbers that are finite.
	_ = json.NewEncoder(h).Encode([]any{network, p.Shape, p.Window, p.Prior, p.Margin, p.Range})
	for _, t := range p.Params.Tensors() {
		_ = binary.Write(h, binary.LittleEndian, t.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}
