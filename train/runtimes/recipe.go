package runtimes

import (
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/train/recipe"
)

// Recipe is everything that a run's result depends on. A run writes it to run.yaml, followed by each scenario as a YAML document.
type Recipe struct {
	Beliefs   Config               `yaml:"beliefs"`
	Workloads []recipe.Workload    `yaml:"workloads"`
	Scenarios []*scenario.Scenario `yaml:"-"`
}

// ReadRecipe reads the recipe of the run in dir. The error wraps checkpoints.ErrNone if dir contains no such run.
func ReadRecipe(dir string) (*Recipe, error) {
	r := &Recipe{}
	var err error
	r.Scenarios, err = recipe.Read(dir, r, true, func() (int, error) { return len(r.Workloads), r.Beliefs.Validate() })
	if err != nil {
		return nil, err
	}
	return r, nil
}
