package cli

import (
	"fmt"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
)

// episodes returns an environment of the scenario without its game: the episode of a seed is a window of the split.
func (o *envOptions) episodes() (env.Config, error) {
	if err := oneOf("split", o.split, splitNames()...); err != nil {
		return env.Config{}, err
	}
	reward, err := env.NamedReward(o.reward)
	if err != nil {
		return env.Config{}, usage("--reward: %v", err)
	}
	s, err := o.scenario.load()
	if err != nil {
		return env.Config{}, err
	}
	src, err := s.Open()
	if err != nil {
		return env.Config{}, err
	}
	cfg, err := s.SimConfig()
	if err != nil {
		return env.Config{}, err
	}
	split := scenario.Split(o.split)
	n := src.Count(split)
	if n == 0 {
		return env.Config{}, fmt.Errorf("scenario %s has no windows of %s", s.Name, split)
	}
	return env.Config{Sim: cfg, Reward: reward, Episode: func(seed uint64) (sim.Episode, error) {
		e, err := src.Episode(split, int(seed%uint64(n)), seed)
		return e.Episode, err
	}}, nil
}
