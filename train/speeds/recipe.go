package speeds

import (
	"fmt"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/train/recipe"
)

// Recipe is everything that a run's result depends on. A run writes it to run.yaml, followed by each scenario as a YAML document.
type Recipe struct {
	Speeds    Config               `yaml:"speeds"`
	Workloads []recipe.Workload    `yaml:"workloads"`
	Scenarios []*scenario.Scenario `yaml:"-"`
}

func newRecipe(cfg *Config, scenarios []*scenario.Scenario) (*Recipe, error) {
	r := &Recipe{Speeds: *cfg, Scenarios: scenarios}
	for _, s := range scenarios {
		if s.Told.Speeds != scenario.Nothing || s.Readings.Interval == 0 {
			return nil, fmt.Errorf("scenario %s: told.speeds is %q and readings.interval %v, want nothing and more than 0, as in %s",
				s.Name, s.Told.Speeds, s.Readings.Interval, scenario.Untold(s.Name))
		}
		src, err := s.Open()
		if err != nil {
			return nil, err
		}
		digest, err := src.Digest()
		if err != nil {
			return nil, err
		}
		r.Workloads = append(r.Workloads, recipe.Of(src, digest))
	}
	return r, nil
}

// ReadRecipe reads the recipe of the run in dir. The error wraps checkpoints.ErrNone if dir contains no such run.
func ReadRecipe(dir string) (*Recipe, error) {
	r := &Recipe{}
	var err error
	r.Scenarios, err = recipe.Read(dir, r, true, func() (int, error) { return len(r.Workloads), r.Speeds.Validate() })
	if err != nil {
		return nil, err
	}
	return r, nil
}
