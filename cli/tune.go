package cli

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/playjob"
	"github.com/clustergym/clustergym/eval/tune"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/work"
)

type tuneOptions struct {
	Scenario  flags.Scenario
	Own       ownTraceOptions
	Objective string   `flag:"objective" default:"completion" complete:"objective" help:"what the rule should be best at: a name of objective ls, or a YAML file"`
	Rules     []string `flag:"rules" complete:"policy" help:"the candidates, commas between; by default all rules of the program, each with several options"`
	Beside    []string `flag:"beside" default:"sjfskip,fifo" complete:"policy" help:"policies that are played beside the best one on the test windows; the first is the baseline"`
	Seed      uint64   `flag:"seed" default:"1" help:"decides which training windows are played first"`
	Out       string   `flag:"out,o" help:"folder of the results (default runs/tune-SCENARIO-OBJECTIVE)"`
	Cores     int      `flag:"cores" min:"0" help:"how many episodes to play at once without workers, 0 for one per core"`
	Pool      poolOptions
}

func newTuneCmd(a *app) *cobra.Command {
	return newCommand(a, &tuneOptions{}, &cobra.Command{
		Use:   "tune --objective O {--scenario S | --trace FILE --servers N --gpus-per-server K}",
		Short: "Find the rule, and its options, that costs least by an objective",
		Long: cmdline.Long(`
Plays all rules, each with several options, on a few windows of the training split, the third that costs least on more, and so on,
and the last few on the validation windows, too. Then it plays the best on the test windows, beside others, and prints what it
costs there with its interval. Test windows choose nothing.

--trace takes a CSV file of your own jobs in place of a scenario: see docs/traces.md for its columns and for --columns. The folder
of the results then has scenario.yaml, which says what is assumed, and jobs.csv; other commands take that scenario.

--workers N starts N processes that play the episodes, and --listen lets workers of other machines do so, too: see clustergym
worker. The result is the same, byte for byte. An interrupted tuning goes on with the same command.`, cmdline.CodeNoRun),
		Example: `  clustergym tune --objective small-first --scenario embedded-small-v1
  clustergym tune --objective mine.yaml --trace jobs.csv --servers 8 --gpus-per-server 8 --workers 2`,
	}, runTune)
}

func runTune(ctx context.Context, a *app, opts *tuneOptions, _ []string) error {
	objective, err := openObjective(opts.Objective)
	if err != nil {
		return err
	}
	s, err := opts.load(ctx, a, objective.Name)
	if err != nil {
		return err
	}
	src, err := s.Open()
	if err != nil {
		return err
	}
	build, err := work.Executable()
	if err != nil {
		return err
	}
	cfg := tune.Config{Source: src, Objective: objective, Seed: opts.Seed, Dir: opts.Out}
	names := opts.Rules
	if len(names) == 0 {
		names = tune.Names()
	}
	all, err := loadAll(a.finder().Load, names)
	if err != nil {
		return err
	}
	args := map[string]string{} // what the user calls a policy, by its name
	for i := range all {
		args[all[i].Name] = names[i]
		if s.Estimated() || len(opts.Rules) > 0 || !all[i].Needs.Estimates {
			cfg.Rules = append(cfg.Rules, all[i])
		}
	}
	if cfg.Beside, err = loadAll(a.fitter().Load, opts.Beside); err != nil {
		return err
	}
	for i := range cfg.Beside {
		args[cfg.Beside[i].Name] = opts.Beside[i]
	}
	player, err := a.openPlayer(ctx, opts.Out, &opts.Pool)
	if err != nil {
		return err
	}
	cfg.Play = func(ctx context.Context, plan eval.Plan, windows []int) ([]eval.Result, error) {
		plan.Build, plan.Workers = build, opts.Cores
		if player.pool != nil {
			job := playjob.Job{Split: plan.Suites[0].Split, Objectives: []string{objective.Text()}, NoLogs: true}
			for i := range plan.Policies {
				job.Policies = append(job.Policies, args[plan.Policies[i].Name])
			}
			if plan.Job, err = jobText(&job, []suite{{plan.Suites[0], src, windows}}, plan.Policies); err != nil {
				return nil, err
			}
		}
		results, failed, err := player.play(ctx, plan)
		if err == nil && failed != nil {
			err = failed
		}
		return results, err
	}
	cfg.Say = func(step tune.Step) {
		best := step.Ranked[0]
		a.Say("%s, %s: best %s with %.4g %s a window; %s left", step.Split, phrase.Count(step.Windows, "window"), best.Rule, best.Cost,
			objective.Unit, phrase.Count(step.Kept, "rule"))
	}
	result, err := tune.Run(ctx, cfg)
	player.pool.finish(err == nil)
	if err != nil {
		return err
	}
	if err := a.Write(filepath.Join(opts.Out, "result.json"), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(result)
	}); err != nil {
		return err
	}
	return printTuned(a, opts, result)
}

func printTuned(a *app, opts *tuneOptions, result *tune.Result) error {
	if a.JSON {
		return a.PrintJSON(result)
	}
	if len(result.Test.Policies) > 0 {
		width, colour := a.Terminal()
		if err := result.Test.WriteTable(a.Out, eval.Screen{Width: width, Colour: colour}); err != nil {
			return err
		}
		a.Printf("\n")
	}
	a.Printf("best: %s, chosen in %s\n", result.Best, phrase.Count(result.Episodes, "episode"))
	if len(result.Test.Policies) > 0 {
		a.Printf("evaluate: %s\n", next(slices.Concat([]string{"eval", "--scenario", opts.Scenario.Name}, opts.Scenario.Again(),
			[]string{"--objective", opts.Objective, "--policies", list(append(slices.Clone(opts.Beside), result.Best)),
				"--baseline", opts.Beside[0]})...))
	}
	return nil
}
