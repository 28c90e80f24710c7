package cli

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/bench"
	"github.com/clustergym/clustergym/eval/figure"
	"github.com/clustergym/clustergym/policy"
)

// noFigures is the format that stands for no figures.
const noFigures = "none"

// words are the values that flags take.
var words = flags.Words{
	"agree":     texts(game.All, game.Lead),
	"autoreset": texts(env.SameStep, env.NextStep, env.Disabled),
	"encoder":   observe.Names,
	"figure":    func() []string { return append(figure.Formats(), noFigures) },
	"format":    flags.Formats,
	"metric": func() (names []string) {
		for _, q := range eval.Quantities() {
			names = append(names, q.Key)
		}
		return names
	},
	"objective":    objectives.Names,
	"oversize":     fixed(string(trace.OversizeError), string(trace.OversizeDrop), string(trace.OversizeClamp)),
	"physics":      fixed("ideal", "inter-server(0.5)"),
	"player":       fixed(policy.Prior, randomPlay, released.Name),
	"released":     fixed(released.Name),
	"restart":      fixed(string(scenario.FromCheckpoint), string(scenario.FromScratch)),
	"reward":       env.RewardNames,
	"scenario":     scenario.All,
	"scenariokeys": flags.ScenarioKeys,
	"split":        flags.Splits,
	"task":         bench.TaskNames,
	"trainkeys":    trainKeys,
	"workload":     fixed("venus", "philly"),
}

func fixed(words ...string) func() []string { return func() []string { return slices.Clone(words) } }

// texts returns the words for the values of a type.
func texts[T interface{ String() string }](values ...T) func() []string {
	return func() (all []string) {
		for _, v := range values {
			all = append(all, v.String())
		}
		return all
	}
}

// words returns the values that flags take, with the names of the program's policies.
func (a *app) words() flags.Words {
	all := maps.Clone(words)
	all["baseline"], all["policy"] = a.table().Names, a.finder().Names
	return all
}

// newCommand returns a command with the flags of *opts: see flags.Bind. What finds baselines by name gets the program's table.
func newCommand[O any](
	a *app, opts *O, cmd *cobra.Command, run func(ctx context.Context, a *app, opts *O, args []string) error,
) *cobra.Command {
	return flags.Command(cmd, opts, a.words(), func(ctx context.Context, opts *O, args []string) error {
		if o, finds := any(opts).(interface{ from(t baselines.Table) }); finds {
			o.from(a.table())
		}
		return run(ctx, a, opts, args)
	})
}

// none are the options of a command without flags.
type none struct{}

// completeArgs makes shells complete arguments with words.
func completeArgs(words func() []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words(), cobra.ShellCompDirectiveDefault
	}
}
