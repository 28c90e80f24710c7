package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/train/recipe"
)

// From is a trained policy for a new run to begin with: the run takes its weights and its Range. Run does not change it.
type From struct {
	Policy   *agents.Policy
	Training checkpoints.Provenance
}

// ErrUnfit is wrapped by the error of a run with settings that contradict the policy that it is to begin with.
var ErrUnfit = errors.New("does not fit the policy that the run begins with")

// Beginning records the policy that a run began with.
type Beginning struct {
	Policy   string  `yaml:"policy"` // its name
	Digest   string  `yaml:"sha256"` // see agents.Policy.Digest
	Margin   float64 `yaml:"margin"`
	Scenario string  `yaml:"scenario"` // what it was trained on, and for how many updates
	Updates  int     `yaml:"updates"`
	// Seen lists the parts of traces that the policy was trained and chosen on.
	Seen []scenario.Period `yaml:"seen"`
}

// Adopt returns the settings with those that follow from the policy: its prior, margin, window, candidates, rivals, encoder and
// size. A run from the policy may have another margin, and must have the others.
func (f *From) Adopt(c Config) Config {
	d := f.Policy.Design()
	c.Prior, c.Margin, c.Window, c.Encoder, c.Costs, c.Size = d.Prior, d.Margin, d.Window, d.Encoder, d.Costs, d.Size
	c.Candidates, c.Rivals = d.Wide.Items, strings.Join(d.Wide.Rivals, ",")
	return c
}

// fits returns an error that names the first setting that contradicts the policy, with both values.
func (f *From) fits(c *Config) error {
	type setting struct {
		key   string
		value any
	}
	fixed := func(c *Config) []setting {
		s := &c.Size
		return []setting{
			{"prior", c.Prior}, {"window", c.Window}, {"candidates", c.Candidates}, {"rivals", c.Rivals}, {"encoder", c.Encoder},
			{"costs", c.Costs},
			{"size.joint", s.Joint}, {"size.width", s.Width}, {"size.heads", s.Heads}, {"size.hidden", s.Hidden}, {"size.rank", s.Rank},
			{"size.kappa", s.Kappa}, {"size.inducing", s.Inducing},
			{"size.attention", cmp.Or(s.Attention, agents.Attend)}, {"size.graph", cmp.Or(s.Graph, agents.GraphDynamic)},
		}
	}
	its := f.Adopt(*c)
	for i, want := range fixed(&its) {
		if got := fixed(c)[i]; got != want {
			return fmt.Errorf("train.%s: %v %w: %s has %v", got.key, got.value, ErrUnfit, f.Policy.Name, want.value)
		}
	}
	return nil
}

// beginning returns what the run's recipe records of the policy.
func (f *From) beginning() *Beginning {
	t := &f.Training
	b := &Beginning{
		Policy: f.Policy.Name, Digest: f.Policy.Digest(), Margin: f.Policy.Margin, Scenario: t.Scenario, Updates: t.Updates,
	}
	for _, s := range t.Seen {
		b.Seen = append(b.Seen, scenario.Period(s))
	}
	return b
}

// warn warns if the policy that the run begins with was trained on jobs of the validation windows.
func (r *run) warn() {
	if r.opt.Warn == nil {
		return
	}
	for _, src := range r.sources {
		if shared, overlap := scenario.Overlap(r.beginning.Seen, src.Periods(scenario.Validation)); overlap {
			r.opt.Warn(fmt.Errorf("policy %s was trained or chosen on jobs of the validation windows of %s (%s): "+
				"its validation figure flatters it", r.beginning.Policy, src.Scenario().Name, shared))
		}
	}
}

// FromName is the folder, within that of a run, of the bundle of the policy that the run began with.
var FromName = filepath.Join("from", "policy")

// from sets what the run begins with: for a new run the given policy, for a resumed one that in its recipe. A new run stores the
// policy in its folder. before is the recipe in that folder, nil if there is none.
func (r *run) from(before *Recipe) error {
	f := r.opt.From
	if !r.opt.Resume {
		if f == nil || before != nil { // a folder that has a run is refused later
			return nil
		}
		if err := f.fits(&r.cfg); err != nil {
			return err
		}
		r.beginning = f.beginning()
		r.warn()
		b, card, err := f.Policy.Bundle("clustergym train", f.Training)
		if err == nil {
			err = checkpoints.WriteBundle(filepath.Join(r.opt.Dir, FromName), b.Manifest, b.Tensors, nil, card, nil)
		}
		return err
	}
	if before == nil {
		return nil // refused later
	}
	if was := before.Train.Objective; was != r.cfg.Objective {
		name, _ := Compared(was)
		asked, _ := Compared(r.cfg.Objective)
		return fmt.Errorf("%s: %w: train.objective: the run learns for another objective: what it lowers is the %s, asked for the %s;"+
			" want the same text", r.opt.Dir, recipe.ErrMismatch, name, asked)
	}
	r.beginning = before.From
	if f == nil || r.beginning != nil && r.beginning.Digest == f.Policy.Digest() {
		return nil
	}
	was := "untrained"
	if r.beginning != nil {
		was = fmt.Sprintf("with policy %s (%s)", r.beginning.Policy, r.beginning.Digest)
	}
	return fmt.Errorf("%s: %w: the run began %s, asked for policy %s (%s)", r.opt.Dir, recipe.ErrMismatch, was, f.Policy.Name,
		f.Policy.Digest())
}

// beginner returns the policy that the run began with, as it was, from the run's folder.
func (r *run) beginner() (*agents.Policy, error) {
	dir := filepath.Join(r.opt.Dir, FromName)
	b, err := checkpoints.ReadBundle(dir, checkpoints.Limits{})
	if err != nil {
		return nil, err
	}
	p, err := agents.FromBundle(b, r.cfg.Table)
	if err == nil && (p.Digest() != r.beginning.Digest || p.Shape != r.policy.Shape) {
		err = fmt.Errorf("%s: policy %s, want the one that the run began with, %s: %w", dir, p.Digest(), r.beginning.Digest,
			checkpoints.ErrForeign)
	}
	return p, err
}

// start gives a new run the weights and the Range of the policy that it begins with, and validates that policy as it is. The
// policy becomes the best so far if it does better than the prior by more than the standard error.
func (r *run) start(ctx context.Context) error {
	if r.beginning == nil {
		return nil
	}
	p, err := r.beginner()
	if err != nil {
		return err
	}
	for i := range p.Params {
		copy(r.policy.Params[i].Data, p.Params[i].Data)
	}
	r.policy.Range = slices.Clone(p.Range)
	if len(r.windows) == 0 {
		return nil
	}
	costs, _, err := r.relative(ctx, p)
	if err != nil {
		return err
	}
	mean, now := costs.over(costs.prior), costs.scaled(costs.team)
	r.startJCT = &mean
	if r.startKept = better(now, r.topCosts); r.startKept {
		r.top, r.topCosts, r.topJCT, r.topMargin = p.Params, now, mean, p.Margin
	}
	return nil
}

// origin returns the provenance of the policy that the run began with, nil for an untrained one. The parameter validation is its
// relative cost on the validation windows, nil if there are none.
func (b *Beginning) origin(validation *float64) *checkpoints.Origin {
	if b == nil {
		return nil
	}
	o := &checkpoints.Origin{Policy: b.Policy, SHA256: b.Digest, Scenario: b.Scenario, Updates: b.Updates}
	if validation != nil {
		o.Validation = *validation
	}
	return o
}

// seen lists the parts of traces that the run's policy was trained and chosen on. They include those of the policy that it began
// with.
func (r *Recipe) seen() []checkpoints.Period {
	all := slices.Concat(r.Workloads, r.Stages)
	if r.From != nil {
		all = append(all, recipe.Workload{Seen: r.From.Seen})
	}
	return recipe.Seen(all)
}
