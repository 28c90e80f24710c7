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
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
)

// Policy is a trained team without a cluster: it can decide on clusters with any number of servers.
type Policy struct {
	Name   string
	Shape  Shape
	Params Params
	Window int // number of jobs to observe, besides the jobs that candidates are about
	// Encoder is the name of the policy's encoder, for observe.Named; empty means the standard encoder.
	Encoder string
	// Prior is the name of the baseline whose proposals the team reviews, for baselines.New. If it ends in baselines.KnowSuffix, the
	// team believes what the prior believes, too.
	Prior string
	// Given is what the prior may use. A prior with seen=training needs it.
	Given baselines.Given
	// Wide selects wide lists of candidates; the zero value selects narrow lists, see candidates.Config.
	Wide Wide
	// Margin is how much the bid for another candidate must exceed the bid for the prior's own to be taken; 0 or more.
	Margin float64
	// Range contains the feature ranges met in training. For observations too far outside it, the policy takes the prior's own
	// choice.
	Range Range

	review baselines.Review
}

// The defaults of a policy.
const (
	DefaultPrior  = "srsf+menu+move"
	DefaultWindow = 32
	DefaultMargin = 1.0
)

// Design is everything in a policy except its weights and its Range.
type Design struct {
	Name    string
	Encoder string // see Policy
	Window  int
	Prior   string
	Wide    Wide
	Margin  float64
	Size    Size
}

// Wide configures wide lists, which candidates.Config.Wide describes.
type Wide struct {
	Items  int      // the most candidates besides the prior's own; 0 selects narrow lists
	Rivals []string // baselines whose proposals also become candidates
}

// wideSet identifies the way a Board finds candidates. Change the name with any change after which old weights no longer work.
const wideSet = "wide-1"

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

// Design returns the design of the policy: with the same weights, Make returns an equal policy without a Range.
func (p *Policy) Design() Design {
	return Design{
		Name: p.Name, Encoder: p.Encoder, Window: p.Window, Prior: p.Prior, Wide: p.Wide, Margin: p.Margin, Size: p.Shape.size(),
	}
}

// encoder returns a new encoder.
func (p *Policy) encoder() (observe.Encoder, error) {
	e, err := observe.Named(p.Encoder, p.Window)
	if standard, ok := e.(*observe.Standard); ok {
		standard.Wide = p.Wide.Items > 0
	}
	return e, err
}

// observed returns the specification of the policy's observations.
func (p *Policy) observed() (observe.Spec, error) {
	e, err := p.encoder()
	if err != nil {
		return observe.Spec{}, err
	}
	return e.Spec(), nil
}

// ready checks the settings outside the network and prepares the review.
func (p *Policy) ready() (err error) {
	if p.Window < 1 || p.Window > maxWindow {
		return fmt.Errorf("window of %d jobs, want 1 to %d", p.Window, maxWindow)
	}
	if !(p.Margin >= 0 && p.Margin <= math.MaxFloat32) {
		return fmt.Errorf("margin %v, want 0 or more", p.Margin)
	}
	// A baseline's option may name a file, and a policy from elsewhere must not make the program read files.
	for _, name := range append([]string{p.Prior}, p.Wide.Rivals...) {
		if strings.ContainsAny(name, `/\`) || strings.Contains(name, option.FileExtension) || baselines.KnowsFile(name) {
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

// maxItems is the largest Wide.Items that a bundle may contain.
const maxItems = 1 << 10

// maxWindow is the largest Window that a bundle may contain.
const maxWindow = 1 << 10

// Candidates returns the largest number of candidates in a choice, including the prior's own.
func (p *Policy) Candidates() int { return 1 + p.review.Items }

// Game returns the configuration of the game that the policy plays, with a new encoder.
func (p *Policy) Game() game.Config {
	e, err := p.encoder()
	if err != nil {
		panic("agents: " + err.Error()) // Make has checked the policy
	}
	c := game.Config{Review: p.review.Config, Rule: p.review.Rule, Encoder: e}
	if b := p.beliefs(); b != nil {
		c.Beliefs = b
	}
	return c
}

// beliefs returns new beliefs of the prior, nil if it has none.
func (p *Policy) beliefs() game.Beliefs {
	_, create, err := p.Given.Beliefs(p.Prior)
	switch {
	case err != nil:
		return unfounded{err}
	case create == nil:
		return nil
	}
	return create()
}

// unfounded are the beliefs of a prior that lacks what it begins with. The error comes where an episode begins, because Game
// returns none.
type unfounded struct{ err error }

func (u unfounded) Reset(uint64) error { return u.err }
func (unfounded) Begin(*cluster.Txn)   {}
func (unfounded) End(*cluster.Txn)     {}

// PlayOn returns the prior as a scheduler that plays on after a candidate was taken, by what b believes at present unless b is
// nil. The guard is the one that keeps the candidate's commitment.
func (p *Policy) PlayOn(b game.Beliefs) (cluster.Scheduler, *candidates.Guard) {
	g := candidates.NewGuard(p.review.Play(), p.review.Start(), nil)
	if known, ok := b.(*baselines.Beliefs); ok {
		return known.Keep(g), g
	}
	return g, g
}

// Digest returns a hash of everything that affects the policy's decisions; it does not include the name.
func (p *Policy) Digest() string {
	h := sha256.New()
	// JSON separates the fields. Neither JSON nor a hash returns an error for finite numbers.
	all := []any{p.Shape.network(), p.Shape, p.Window, p.Prior, p.Margin, p.Range}
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
