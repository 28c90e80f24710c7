package cli

import (
	"fmt"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// episodes returns the configuration of the scenario's environment, without its game.
func (o *envOptions) episodes() (env.Config, error) {
	if err := cmdline.OneOf("split", o.split, flags.Splits()...); err != nil {
		return env.Config{}, err
	}
	src, err := o.open()
	if err != nil {
		return env.Config{}, err
	}
	return o.dealt(src, scenario.Split(o.split))
}

// open reads the scenario and its workload.
func (o *envOptions) open() (*scenario.Source, error) {
	s, err := o.scenario.Load()
	if err != nil {
		return nil, err
	}
	return s.Open()
}

// dealt returns the configuration of an environment without its game. The episode of a seed is the split's window seed modulo the
// number of windows.
func (o *envOptions) dealt(src *scenario.Source, split scenario.Split) (env.Config, error) {
	reward, err := env.NamedReward(o.reward)
	if err != nil {
		return env.Config{}, cmdline.Usage("--reward: %v", err)
	}
	cfg, err := src.Scenario().SimConfig()
	if err != nil {
		return env.Config{}, err
	}
	n := src.Count(split)
	if n == 0 {
		return env.Config{}, fmt.Errorf("scenario %s has no windows of %s", src.Scenario().Name, split)
	}
	return env.Config{Sim: cfg, Reward: reward, Episode: func(seed uint64) (sim.Episode, error) {
		window := int(seed % uint64(n))
		if o.cases != 0 {
			seed = o.cases
		}
		e, err := src.Episode(split, window, seed)
		return e.Episode, err
	}}, nil
}
