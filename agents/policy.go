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
	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
)

// Policy is what a trained team consists of apart from a cluster: it decides on clusters of any number of servers.
type Policy struct {
	Name   string
	Shape  Shape
	Params Params
	Window int // jobs shown beside those that candidates are about
	// Encoder names what shows states to the policy, as observe.Named does; empty for the standard encoder.
	Encoder string
	// Prior names the baseline whose proposals the team reviews, as baselines.New does.
	Prior string
	// Wide says from which candidates the policy chooses; the zero value is narrow lists, see candidates.Config.
	Wide Wide
	// Margin is by how much the bid for another candidate must exceed that for what the prior would do, 0 or more.
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

// Design is all of a policy but its weights and the range that training has met.
type Design struct {
	Name    string
	Encoder string // see Policy
	Window  int
	Prior   string
	Wide    Wide
	Margin  float64
	Size    Size
}

// Wide is what a policy chooses from beside that, with candidates.Config.Wide.
type Wide struct {
	Items  int      // candidates beside the prior's own, at most; 0 for narrow lists instead
	Rivals []string // baselines whose proposals are among them
}

// wideSet names how the candidates of a Board are found. A change that old weights do not survive needs another name.
const wideSet = "wide-1"

// NewPolicy returns an untrained policy of the standard encoder with the default margin: the prior, with the weights it would
// start to train from.
func NewPolicy(name string, size Size, window int, prior string, r *rand.Rand) (*Policy, error) {
	d := Design{Name: name, Window: window, Prior: prior, Margin: DefaultMargin, Size: size}
	p, err := d.Make(func(s Shape) (Params, error) { return Init(s, r), nil })
	if err != nil {
		return nil, fmt.Errorf("make policy %s: %w", name, err)
	}
	return p, nil
}

// Make returns the policy with these weights. An encoder or a prior that this program does not have is an error.
func (d *Design) Make(weights func(Shape) (Params, error)) (*Policy, error) {
	p := &Policy{Name: d.Name, Window: d.Window, Encoder: d.Encoder, Prior: d.Prior, Wide: d.Wide, Margin: d.Margin}
	if err := p.ready(); err != nil {
		return nil, err
	}
	spec, err := p.observed()
	if err != nil {
		return nil, err
	}
	if p.Shape, err = NewShape(len(spec.Server), len(spec.Job), len(spec.Candidate), len(spec.Global), d.Size); err != nil {
		return nil, err
	}
	if p.Params, err = weights(p.Shape); err != nil {
		return nil, err
	}
	return p, nil
}

// encoder makes a fresh encoder.
func (p *Policy) encoder() (observe.Encoder, error) {
	e, err := observe.Named(p.Encoder, p.Window)
	if standard, ok := e.(*observe.Standard); ok {
		standard.Wide = p.Wide.Items > 0
	}
	return e, err
}

// observed is what the policy's encoder shows.
func (p *Policy) observed() (observe.Spec, error) {
	e, err := p.encoder()
	if err != nil {
		return observe.Spec{}, err
	}
	return e.Spec(), nil
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
	for _, name := range append([]string{p.Prior}, p.Wide.Rivals...) {
		if strings.ContainsAny(name, `/\`) || strings.Contains(name, option.FileExtension) {
			return fmt.Errorf("prior or rival %q, want a baseline without files", name)
		}
	}
	if p.review, err = baselines.Reviewed(p.Prior); err != nil {
		return fmt.Errorf("prior: %w", err)
	}
	if n := p.Wide.Items; n < 0 || n > maxItems || n == 0 && len(p.Wide.Rivals) > 0 {
		return fmt.Errorf("%d candidates with %d rivals, want 0 to %d, and none without", n, len(p.Wide.Rivals), maxItems)
	}
	if p.Wide.Items > 0 {
		p.review.Rule = nil // the prior itself moves jobs
		p.review.Config, err = baselines.Wide(p.Prior, p.Wide.Items, p.Wide.Rivals...)
	}
	return err
}

// maxItems bounds what a bundle may ask for.
const maxItems = 1 << 10

// maxWindow bounds what a bundle may ask for.
const maxWindow = 1 << 10

// Candidates is how many there are to choose from, at most.
func (p *Policy) Candidates() int { return 1 + p.review.Items }

// Game returns the game that the policy plays, with an encoder of its own.
func (p *Policy) Game() game.Config {
	e, err := p.encoder()
	if err != nil {
		panic("agents: " + err.Error()) // the policy was checked
	}
	return game.Config{Review: p.review.Config, Rule: p.review.Rule, Encoder: e}
}

// PlayOn returns the prior as it plays on after a candidate has been taken.
func (p *Policy) PlayOn() *candidates.Guard {
	return candidates.NewGuard(p.review.Play(), p.review.Start(), nil)
}

// Digest identifies what the policy decides by, its name apart.
func (p *Policy) Digest() string {
	h := sha256.New()
	// JSON parts the fields; neither it nor a hash can fail on numbers that are finite.
	all := []any{network, p.Shape, p.Window, p.Prior, p.Margin, p.Range}
	if p.Encoder != "" {
		all = append(all, p.Encoder)
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
