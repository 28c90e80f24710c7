package agents

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/observe"
)

// Setting is the game that a policy plays and what it observes there. It does not depend on the cluster.
type Setting struct {
	Window int // number of jobs to observe, besides the jobs that candidates are about
	// Encoder is the name of the encoder, for observe.Named; empty means the standard encoder.
	Encoder string
	// Costs adds to the standard encoder what jobs cost by Given.Objective, else by Objective, which the policy was trained for, or
	// by completion times if both are nil. It makes the policy decide when that changes: see game.Config.Objective.
	Costs     bool
	Objective *objectives.Objective
	// Prior is the name of the baseline whose proposals the policy reviews. If it ends in baselines.KnowSuffix, the policy believes
	// what the prior believes, too.
	Prior string
	// Table has the prior and the rivals.
	Table baselines.Table
	// Given is what the prior may use. A prior with seen=training needs it.
	Given baselines.Given
	// Wide selects wide lists of candidates; the zero value selects narrow lists, see candidates.Config.
	Wide Wide

	prior  baselines.Spec
	review baselines.Review
}

// Wide configures wide lists, which candidates.Config.Wide describes.
type Wide struct {
	Items  int      // the most candidates besides the prior's own; 0 selects narrow lists
	Rivals []string // baselines whose proposals also become candidates
}

// wideSet identifies the way a Board finds candidates. Change the name with any change after which old weights no longer work.
const wideSet = "wide-1"

// encoder returns a new encoder.
func (s *Setting) encoder() (observe.Encoder, error) {
	e, err := observe.Named(s.Encoder, s.Window)
	if standard, ok := e.(*observe.Standard); ok {
		standard.Wide = s.Wide.Items > 0
		if s.Costs {
			standard.Objective = s.objective()
		}
	}
	return e, err
}

// objective returns what a policy with Costs decides by.
func (s *Setting) objective() *objectives.Objective {
	for _, o := range []*objectives.Objective{s.Given.Objective, s.Objective} {
		if o != nil {
			return o
		}
	}
	return objectives.Usual()
}

// digested returns what a digest says of Costs; ok is false without them.
func (s *Setting) digested() (costs [2]string, ok bool) {
	costs[0] = "costs"
	if s.Objective != nil && s.Objective.Text() != objectives.Usual().Text() {
		costs[1] = s.Objective.Text()
	}
	return costs, s.Costs
}

// Needs says what the policy needs or begins with: what its prior does, and its objective if it has Costs.
func (s *Setting) Needs() baselines.Needs {
	n := s.prior.Needs()
	n.Objective = n.Objective || s.Costs
	return n
}

// ready checks the setting and prepares the review.
func (s *Setting) ready() (err error) {
	if s.Window < 1 || s.Window > maxWindow {
		return fmt.Errorf("window of %d jobs, want 1 to %d", s.Window, maxWindow)
	}
	all, err := s.Table.ParseAll(append([]string{s.Prior}, s.Wide.Rivals...)...)
	for i := range all {
		if len(all[i].Files()) > 0 { // a policy from elsewhere must not make the program read files
			err = fmt.Errorf("%q, want a baseline without files", all[i])
		}
	}
	if err == nil {
		s.prior = all[0]
		s.review, err = s.prior.Review(baselines.Given{})
	}
	if err != nil {
		return fmt.Errorf("prior or rival: %w", err)
	}
	if n := s.Wide.Items; n < 0 || n > maxItems || n == 0 && len(s.Wide.Rivals) > 0 {
		return fmt.Errorf("%d candidates with %d rivals, want 0 to %d, and none without", n, len(s.Wide.Rivals), maxItems)
	}
	if s.Wide.Items > 0 {
		s.review.Rule = nil // the prior itself moves jobs
		s.review.Config, err = s.prior.Wide(s.Wide.Items, all[1:]...)
	}
	return err
}

// Base returns the prior.
func (s *Setting) Base() baselines.Spec { return s.prior }

// The largest Wide.Items and Window that a bundle may contain.
const maxItems, maxWindow = 1 << 10, 1 << 10

// Candidates returns the largest number of candidates in a choice, including the prior's own.
func (s *Setting) Candidates() int { return 1 + s.review.Items }

// Game returns the configuration of the game, with a new encoder.
func (s *Setting) Game() game.Config {
	e, err := s.encoder()
	if err != nil {
		panic("agents: " + err.Error()) // ready has checked it
	}
	c := game.Config{Review: s.review.Config, Rule: s.review.Rule, Encoder: e}
	if s.Costs {
		c.Objective = s.objective()
	}
	switch b, err := s.prior.Beliefs(s.Given); {
	case err != nil:
		c.Beliefs = unable{err}
	case b != nil:
		c.Beliefs = b
	}
	return c
}

// unable is a prior that lacks what it begins with, or its beliefs. The error comes where an episode begins.
type unable struct{ err error }

func (unable) Name() string                  { return "prior" }
func (u unable) Reset(uint64) error          { return u.err }
func (u unable) Schedule(*cluster.Txn) error { return u.err }
func (unable) End(*cluster.Txn)              {}

func (unable) Begin(tx *cluster.Txn) *cluster.Txn { return tx }

// PlayOn returns the prior as a scheduler that plays on in a fork after a candidate was taken, see Guard.Take. Unless b is nil,
// it begins with what b believes by then.
func (s *Setting) PlayOn(b game.Beliefs) (cluster.Scheduler, *candidates.Guard) {
	g := candidates.NewGuard(s.review.Play(), s.review.Start(), nil)
	if known, ok := b.(*baselines.Beliefs); ok {
		return known.PlayOn(g), g
	}
	return g, g
}

// features returns the features of the encoder.
func (s *Setting) features() (checkpoints.Features, error) {
	e, err := s.encoder()
	if err != nil {
		return checkpoints.Features{}, err
	}
	spec := e.Spec()
	return checkpoints.Features{Server: spec.Server, Job: spec.Job, Offer: spec.Candidate, Global: spec.Global}, nil
}

// manifest returns the manifest of a policy with this setting, without its network.
func (s *Setting) manifest(name, created string, training checkpoints.Provenance) (m checkpoints.Manifest, err error) {
	features, err := s.features()
	if err != nil {
		return m, fmt.Errorf("bundle policy %s: %w", name, err)
	}
	m = checkpoints.Manifest{
		Name: name, Created: created, Window: s.Window, Training: training, Encoder: s.Encoder,
		Features: features, Prior: checkpoints.Prior{Name: s.Prior},
	}
	if s.Wide.Items > 0 {
		m.Candidates = &checkpoints.Candidates{Set: wideSet, Items: s.Wide.Items, Rivals: s.Wide.Rivals}
	}
	return m, nil
}

// settingFrom returns the setting in a manifest, unchecked but for its features: they must be those of this program's encoder of
// the same name.
func settingFrom(m *checkpoints.Manifest, t baselines.Table) (s Setting, err error) {
	s = Setting{Window: m.Window, Encoder: m.Encoder, Costs: observe.ShowsCosts(m.Features.Job), Prior: m.Prior.Name, Table: t}
	if o, err := objectives.Read(strings.NewReader(m.Training.Objective)); s.Costs && err == nil { // else it is the usual one
		s.Objective = o
	}
	if c := m.Candidates; c != nil {
		if c.Set != wideSet {
			return s, fmt.Errorf("candidates %q, want %q: %w", c.Set, wideSet, checkpoints.ErrForeign)
		}
		s.Wide = Wide{c.Items, c.Rivals}
	}
	want, err := s.features()
	if err != nil {
		return s, fmt.Errorf("%w: %w", err, checkpoints.ErrForeign)
	}
	got := &m.Features
	for _, f := range []struct {
		name      string
		got, want []checkpoints.Feature
	}{
		{"server", got.Server, want.Server},
		{"job", got.Job, want.Job},
		{"offer", got.Offer, want.Offer},
		{"global", got.Global, want.Global},
	} {
		for i := range max(len(f.got), len(f.want)) {
			if i >= len(f.got) || i >= len(f.want) {
				return s, fmt.Errorf("%d %s features, this version observes %d: %w", len(f.got), f.name, len(f.want), checkpoints.ErrForeign)
			}
			if f.got[i] != f.want[i] {
				return s, fmt.Errorf("%s features: number %d is %s, this version observes %s: %w", f.name, i, meaning(f.got[i]),
					meaning(f.want[i]), checkpoints.ErrForeign)
			}
		}
	}
	return s, nil
}

// meaning describes a feature.
func meaning(f checkpoints.Feature) string {
	return fmt.Sprintf("%s in [%v, %v] %s", f.Name, f.Min, f.Max, f.Unit)
}
