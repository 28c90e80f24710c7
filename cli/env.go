package cli

import (
	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newEnvCmd(a *app) *cobra.Command {
	return cmdline.NewGroup("env", "Describe, check, time and watch environments",
		`An environment plays the windows of a scenario. Every server is an agent. Wherever there is a choice, the agents see numbered
candidates: what the base policy, the prior, would do next, and what could be done in its place. Each agent names one
candidate in which its server takes part, or passes. The environment carries out what the agents agree on, and simulated time
passes until the next choice.`,
		newEnvDescribeCmd(a), newEnvCheckCmd(a), newEnvBenchCmd(a), newEnvPlayCmd(a),
		newEnvServeCmd())
}

// envOptions are the flags that define an environment.
type envOptions struct {
	scenario flags.Scenario
	split    string
	window   int
	seed     uint64
	prior    string
	agree    string
	wide     int
	rivals   []string
	encoder  string
	reward   string
	cases    uint64 // if not 0, the seed of all episodes; the seed of an environment's episode then only selects its window
}

func (o *envOptions) addFlags(cmd *cobra.Command) {
	o.addGameFlags(cmd)
	o.addSplitFlag(cmd)
	cmd.Flags().Uint64Var(&o.seed, "seed", 1, "seed of the episode; it also selects the window")
}

// addSplitFlag adds the flag that selects whose windows are played.
func (o *envOptions) addSplitFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.split, "split", string(scenario.Train), "split whose windows are played: train, validation or test")
	cmdline.Complete(cmd, "split", flags.Splits)
}

// addGameFlags adds the flags that define the game and its scenario.
func (o *envOptions) addGameFlags(cmd *cobra.Command) {
	o.scenario.Add(cmd)
	f := cmd.Flags()
	f.IntVar(&o.window, "window", 32, "how many jobs the agents see at a time; the jobs of candidates come first")
	f.StringVar(&o.prior, "prior", agents.DefaultPrior, "the base policy: the baseline whose proposals the agents review")
	f.StringVar(&o.agree, "agree", game.All.String(), "when a candidate is carried out: if all of its servers name it (all), or if"+
		" its lead server names it and none of the others names another (lead)")
	f.IntVar(&o.wide, "candidates", 0, "show wide lists with this many candidates in addition to what the prior proposes;"+
		" 0 for narrow lists, which are about one start of the prior at a time")
	f.StringSliceVar(&o.rivals, "rivals", nil,
		"baselines whose proposals are added to wide lists, with commas between")
	f.StringVar(&o.encoder, "encoder", observe.StandardName, "name of the encoder that computes the agents' observations")
	f.StringVar(&o.reward, "reward", env.Flow{}.Name(), "name of the reward, with its options: see docs/env.md")
	cmdline.Complete(cmd, "encoder", observe.Names)
	cmdline.Complete(cmd, "reward", env.RewardNames)
	cmdline.Complete(cmd, "rivals", baselines.Names)
	cmdline.Complete(cmd, "prior", baselines.Names)
	cmdline.Complete(cmd, "agree", agreementNames)
}

func agreementNames() []string { return []string{game.All.String(), game.Lead.String()} }

// game returns a function that creates a game's configuration, each with an encoder of its own.
func (o *envOptions) game() (func() (game.Config, error), error) {
	if o.window < 1 {
		return nil, cmdline.Usage("--window %d: want at least 1", o.window)
	}
	if err := cmdline.OneOf("agree", o.agree, agreementNames()...); err != nil {
		return nil, err
	}
	agree, err := game.ParseAgreement(o.agree)
	if err != nil {
		return nil, err
	}
	if o.wide < 0 || o.wide == 0 && len(o.rivals) > 0 {
		return nil, cmdline.Usage("--candidates %d with %d rivals: want 0 or more, and 1 or more with rivals", o.wide, len(o.rivals))
	}
	create := func() (game.Config, error) {
		encoder, err := o.observer()
		if err != nil {
			return game.Config{}, err
		}
		if o.wide > 0 {
			c, err := baselines.Wide(o.prior, o.wide, o.rivals...)
			if err != nil {
				return game.Config{}, cmdline.Usage("--prior, --rivals: %v", err)
			}
			return game.Config{Review: c, Encoder: encoder, Agree: agree}, nil
		}
		r, err := baselines.Reviewed(o.prior)
		if err != nil {
			return game.Config{}, cmdline.Usage("--prior: %v", err)
		}
		return game.Config{Review: r.Config, Rule: r.Rule, Encoder: encoder, Agree: agree}, nil
	}
	_, err = create()
	return create, err
}

// observer returns a new encoder.
func (o *envOptions) observer() (observe.Encoder, error) {
	encoder, err := observe.Named(o.encoder, o.window)
	if err != nil {
		return nil, cmdline.Usage("--encoder: %v", err)
	}
	if standard, ok := encoder.(*observe.Standard); ok {
		standard.Wide = o.wide > 0
	}
	return encoder, nil
}

// maker returns a function that creates new environments.
func (o *envOptions) maker() (envtest.Make, error) {
	cfg, err := o.episodes()
	if err != nil {
		return nil, err
	}
	return o.played(cfg)
}

// played returns a function that creates new environments with the game of the flags.
func (o *envOptions) played(cfg env.Config) (envtest.Make, error) {
	play, err := o.game()
	if err != nil {
		return nil, err
	}
	return func() (env.Env, error) {
		g, err := play()
		if err != nil {
			return nil, err
		}
		own := cfg
		own.Game = g
		return env.New(own)
	}, nil
}

// shape creates an environment, closes it and returns its specification.
func (o *envOptions) shape() (game.Spec, error) {
	create, err := o.maker()
	if err != nil {
		return game.Spec{}, err
	}
	e, err := create()
	if err != nil {
		return game.Spec{}, err
	}
	return e.Spec(), e.Close()
}
