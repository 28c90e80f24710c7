package cli

import (
	"fmt"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
)

// episodes returns the cluster of the scenario, and what finds the episode of a seed: a window of the split.
func (o *envOptions) episodes() (sim.Config, func(seed uint64) (sim.Episode, error), error) {
	if err := oneOf("split", o.split, splitNames()...); err != nil {
		return sim.Config{}, nil, err
	}
	s, err := o.scenario.load()
	if err != nil {
		return sim.Config{}, nil, err
	}
	src, err := s.Open()
	if err != nil {
		return sim.Config{}, nil, err
	}
	cfg, err := s.SimConfig()
	if err != nil {
		return sim.Config{}, nil, err
	}
	split := scenario.Split(o.split)
	n := src.Count(split)
	if n == 0 {
		return sim.Config{}, nil, fmt.Errorf("scenario %s has no windows of %s", s.Name, split)
	}
	return cfg, func(seed uint64) (sim.Episode, error) {
		e, err := src.Episode(split, int(seed%uint64(n)), seed)
		return e.Episode, err
	}, nil
}
