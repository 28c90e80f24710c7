package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newEnvCmd(a *app) *cobra.Command {
	return cmdline.NewGroup("env", "Describe, check, time and watch environments",
		`An environment plays the windows of a scenario. Every server is an agent. Wherever there is a choice, the agents see numbered
candidates: what the base policy, the prior, would do next, and what could be done in its place. Each agent names one
candidate in which its server takes part, or passes. The environment carries out what the agents agree on, and simulated time
passes until the next choice.`,
		newEnvDescribeCmd(a), newEnvCheckCmd(a), newEnvPlayCmd(a), newEnvServeCmd(a))
}

// gameOptions are the flags that define the game and its scenario.
type gameOptions struct {
	Scenario  flags.Scenario
	Window    int      `flag:"window" default:"32" min:"1" help:"how many jobs the agents see at a time; the jobs of candidates come first"`
	Prior     string   `flag:"prior" default:"srsf+menu+move" complete:"baseline" help:"the base policy: the baseline whose proposals the agents review"`
	Agree     string   `flag:"agree" default:"all" of:"agree" help:"when a candidate is carried out: if all of its servers name it (all), or if its lead server names it and none of the others names another (lead)"`
	Wide      int      `flag:"candidates" min:"0" help:"show wide lists with this many candidates in addition to what the prior proposes; 0 for narrow lists, which are about one start of the prior at a time"`
	Rivals    []string `flag:"rivals" complete:"baseline" help:"baselines whose proposals are added to wide lists, with commas between"`
	Encoder   string   `flag:"encoder" default:"standard" complete:"encoder" help:"name of the encoder that computes the agents' observations"`
	Reward    string   `flag:"reward" default:"flow" complete:"reward" help:"name of the reward: flow, or one that a program adds (docs/env.md)"`
	Objective string   `flag:"objective" complete:"objective" help:"the reward is minus the cost of this objective, in place of --reward: a name or a YAML file, see objective ls"`

	table baselines.Table
	cases uint64 // if not 0, the seed of all episodes; the seed of an environment's episode then only selects its window
}

// envOptions are the flags that define an environment.
type envOptions struct {
	gameOptions
	Split string `flag:"split" default:"train" of:"split" help:"split whose windows are played: train, validation or test"`
}

// episodeOptions are the flags that define an episode.
type episodeOptions struct {
	envOptions
	Seed uint64 `flag:"seed" default:"1" help:"seed of the episode; it also selects the window"`
}

func (o *gameOptions) from(t baselines.Table) { o.table = t }

// game returns a function that creates a game's configuration, each with an encoder of its own.
func (o *gameOptions) game() (func() (game.Config, error), error) {
	agree, err := game.ParseAgreement(o.Agree)
	if err != nil {
		return nil, err
	}
	if o.Wide == 0 && len(o.Rivals) > 0 {
		return nil, cmdline.Usage("--candidates 0 with %d rivals: want 1 or more", len(o.Rivals))
	}
	prior, err := o.table.Parse(o.Prior)
	if err != nil {
		return nil, cmdline.Usage("--prior: %v", err)
	}
	rivals, err := o.table.ParseAll(o.Rivals...)
	if err != nil {
		return nil, cmdline.Usage("--rivals: %v", err)
	}
	create := func() (game.Config, error) {
		encoder, err := observe.Named(o.Encoder, o.Window)
		if err != nil {
			return game.Config{}, cmdline.Usage("--encoder: %v", err)
		}
		if standard, ok := encoder.(*observe.Standard); ok {
			standard.Wide = o.Wide > 0
		}
		if o.Wide > 0 {
			c, err := prior.Wide(o.Wide, rivals...)
			if err != nil {
				return game.Config{}, cmdline.Usage("--prior, --rivals: %v", err)
			}
			return game.Config{Review: c, Encoder: encoder, Agree: agree}, nil
		}
		r, err := prior.Review(baselines.Given{})
		if err != nil {
			return game.Config{}, cmdline.Usage("--prior: %v", err)
		}
		return game.Config{Review: r.Config, Rule: r.Rule, Encoder: encoder, Agree: agree}, nil
	}
	_, err = create()
	return create, err
}

// open reads the scenario and its workload.
func (o *gameOptions) open() (*scenario.Source, error) {
	s, err := o.Scenario.Load()
	if err != nil {
		return nil, err
	}
	return s.Open()
}

// dealt returns the configuration of an environment without its game. The episode of a seed is the split's window seed modulo the
// number of windows.
func (o *gameOptions) dealt(src *scenario.Source, split scenario.Split) (env.Config, error) {
	reward, err := env.NamedReward(o.Reward)
	if err != nil {
		return env.Config{}, cmdline.Usage("--reward: %v", err)
	}
	cfg, err := src.Scenario().SimConfig()
	if err != nil {
		return env.Config{}, err
	}
	var objective *objectives.Objective
	if o.Objective != "" {
		if objective, err = openObjective(o.Objective); err != nil {
			return env.Config{}, err
		}
		if o.Reward != (env.Flow{}).Name() {
			return env.Config{}, cmdline.Usage("--reward and --objective: want one")
		}
		reward = nil
	}
	n := src.Count(split)
	if n == 0 {
		return env.Config{}, fmt.Errorf("scenario %s has no windows of %s", src.Scenario().Name, split)
	}
	return env.Config{Sim: cfg, Reward: reward, Objective: objective, Episode: func(seed uint64) (sim.Episode, error) {
		window := int(seed % uint64(n))
		if o.cases != 0 {
			seed = o.cases
		}
		e, err := src.Episode(split, window, seed)
		return e.Episode, err
	}}, nil
}

// played returns a function that creates new environments with the game of the flags.
func (o *gameOptions) played(src *scenario.Source, split scenario.Split) (envtest.Make, error) {
	cfg, err := o.dealt(src, split)
	if err != nil {
		return nil, err
	}
	play, err := o.game()
	if err != nil {
		return nil, err
	}
	return func() (env.Env, error) {
		own := cfg
		var err error
		if own.Game, err = play(); err != nil {
			return nil, err
		}
		return env.New(own)
	}, nil
}

// maker returns a function that creates new environments.
func (o *envOptions) maker() (envtest.Make, error) {
	src, err := o.open()
	if err != nil {
		return nil, err
	}
	return o.played(src, scenario.Split(o.Split))
}
