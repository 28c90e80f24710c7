package train

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/train/recipe"
)

// Recipe is everything that a run's result depends on. A run writes it to run.yaml, followed by each scenario as a YAML document.
type Recipe struct {
	Train     Config               `yaml:"train"`
	Prior     string               `yaml:"prior"` // the baseline chosen among those that Train.Prior lists
	From      *Beginning           `yaml:"from,omitempty"`
	Workloads []recipe.Workload    `yaml:"workloads"`
	Stages    []recipe.Workload    `yaml:"stages,omitempty"` // of each stage of the curriculum, one for each scenario
	Scenarios []*scenario.Scenario `yaml:"-"`
}

// ReadRecipe reads the recipe of the run in dir. The program may lack what only training uses, such as a reward: Run
// returns an error then. The error wraps checkpoints.ErrNone if dir contains no run.
func ReadRecipe(dir string) (r *Recipe, err error) {
	r = &Recipe{}
	r.Scenarios, err = recipe.Read(dir, r, false, func() (int, error) { return len(r.Workloads), r.Train.decides() })
	if err != nil {
		return nil, err
	}
	return r, nil
}

// before returns the recipe in the run's folder, nil if there is none.
func (r *run) before() (*Recipe, error) {
	before, err := ReadRecipe(r.opt.Dir)
	if errors.Is(err, checkpoints.ErrNone) {
		return nil, nil
	}
	return before, err
}

// Open returns the policy from the newest checkpoint of the run in dir: the policy that did best on validation windows, or the
// last one if the run has no validation windows. If that checkpoint is damaged, Open calls older. If older returns nil, Open uses
// the newest good checkpoint; if older returns an error, Open returns it. If older is nil, Open returns the OlderError. The error
// wraps checkpoints.ErrNone if dir contains no run with a checkpoint. The table has the policy's prior.
func Open(dir string, table baselines.Table, older func(*OlderError) error) (*agents.Policy, checkpoints.Provenance, error) {
	p, training, err := open(dir, table, older)
	if err != nil {
		return nil, training, fmt.Errorf("open run %s: %w", dir, err)
	}
	return p, training, nil
}

func open(dir string, table baselines.Table, older func(*OlderError) error) (*agents.Policy, checkpoints.Provenance, error) {
	var training checkpoints.Provenance
	r, err := ReadRecipe(dir)
	if err != nil {
		return nil, training, err
	}
	store, err := checkpoints.ViewStore(filepath.Join(dir, storeName), checkpoints.Limits{})
	if err != nil {
		return nil, training, err
	}
	c, _, err := newest(store, older)
	if err != nil {
		return nil, training, err
	}
	var st state
	t := &r.Train
	t.Table = table
	d := t.design(filepath.Base(dir), r.Prior)
	p, err := d.Make(func(s agents.Shape) (agents.Params, error) {
		var params, top agents.Params
		if st, params, top, err = unpack(s, c); top != nil {
			params = top
		}
		return params, err
	})
	if err == nil {
		if st.Best != nil {
			p.Margin = st.Margin
		}
		p.Range, err = agents.RangeFrom(p.Shape, c.Tensors)
	}
	if err != nil {
		return nil, training, err
	}
	training = checkpoints.Provenance{
		Scenario: r.join(func(s *scenario.Scenario) string { return s.Name }), Seed: r.Train.Seed, Updates: st.Update,
		Trace:  r.join(func(s *scenario.Scenario) string { return s.Workload.Trace }),
		Memory: r.Train.Memory.Seconds(), Seen: r.seen(), Objective: cmp.Or(r.Train.Objective, r.Train.Reward),
		From: r.From.origin(st.Start),
	}
	if t.estimates() && (t.Expert >= t.Updates || t.drawsEstimate()) {
		training.Memory = 0 // nothing is discounted
	}
	if st.Best != nil {
		training.Validation = *st.Best
	}
	return p, training, nil
}

// join lists the distinct values of a property of the scenarios, separated by commas.
func (r *Recipe) join(of func(*scenario.Scenario) string) string {
	var all []string
	for _, s := range r.Scenarios {
		if s := of(s); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return strings.Join(all, ",")
}
