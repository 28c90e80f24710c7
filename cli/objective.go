package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newObjectiveCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "objective",
		Short: "Say what a cluster should optimise: list, describe and check objectives",
		Long: cmdline.Long(`
An objective is a sum of costs; lower is better. It is a name of the library or a YAML file:

  name: small-first
  about: small jobs start within ten minutes, and little work is done twice
  unit: minutes
  terms:
    - {cost: wait, first: true, over: 10m, price: 1/min, jobs: {gpus: 1-4}}
    - {cost: lost_gpu_time, price: 1/min}

docs/objectives.md lists all costs and their options. eval --objective measures policies by it, and tune finds the best rule.`),
	}
	cmd.AddCommand(
		newCommand(a, &none{}, &cobra.Command{
			Use: "ls", Short: "List the library of objectives",
			Long:    cmdline.Long("Lists the objectives that come with the program, with their units."),
			Example: "  clustergym objective ls",
		}, runObjectiveLs),
		newCommand(a, &objectiveOptions{}, &cobra.Command{
			Use:   "describe NAME|FILE",
			Short: "Show what an objective asks for, and draw what each term costs",
			Long: cmdline.Long(`
Prints an objective in words. Below each term a line shows what it costs as time goes on: for terms of time, as a job of an hour
waits longer; for a tariff, the price over a day. --yaml prints the file of an objective of the library, to begin one's own
with.`),
			Example: "  clustergym objective describe small-first\n  clustergym objective describe small-first --yaml",
			Args:    cobra.ExactArgs(1), ValidArgsFunction: completeArgs(objectives.Names),
		}, runObjectiveDescribe),
		newCommand(a, &schemaOptions{}, &cobra.Command{
			Use:   "check FILE...",
			Short: "Check files of objectives",
			Long: cmdline.Long(`
Reads files of objectives. The first that is not as it should be is an error with the line, the value, and what was expected.
--schema prints a JSON schema, by which editors complete and check such files while they are written.`),
			Example: "  clustergym objective check mine.yaml\n  clustergym objective check --schema",
			Args:    cobra.ArbitraryArgs,
		}, runObjectiveCheck),
	)
	return cmd
}

func runObjectiveLs(_ context.Context, a *app, _ *none, _ []string) error {
	type line struct {
		Name  string `json:"name"`
		About string `json:"about"`
		Unit  string `json:"unit"`
	}
	lines, rows := []line{}, [][]string{{"objective", "unit", "about"}}
	for _, name := range objectives.Names() {
		o, err := objectives.Open(name)
		if err != nil {
			return err
		}
		lines = append(lines, line{o.Name, o.About, o.Unit})
		rows = append(rows, []string{o.Name, o.Unit, o.About})
	}
	return a.Print(lines, rows)
}

type objectiveOptions struct {
	YAML bool `flag:"yaml" help:"print the objective's file"`
}

func runObjectiveDescribe(_ context.Context, a *app, opts *objectiveOptions, args []string) error {
	o, err := openObjective(args[0])
	if err != nil {
		return err
	}
	text := o.Describe()
	if opts.YAML {
		text = o.Text()
	}
	if a.JSON {
		return a.PrintJSON(map[string]string{"name": o.Name, "text": text})
	}
	a.Printf("%s", text)
	return nil
}

type schemaOptions struct {
	Schema bool `flag:"schema" help:"print the JSON schema of such files"`
}

func runObjectiveCheck(_ context.Context, a *app, opts *schemaOptions, args []string) error {
	if opts.Schema {
		a.Printf("%s", objectives.Schema())
		return nil
	}
	if len(args) == 0 {
		return cmdline.Usage("no file, want at least one, or --schema")
	}
	for _, path := range args {
		o, err := openObjective(path)
		if err != nil {
			return err
		}
		a.Say("%s: %s, %d terms", path, o.Name, len(o.Terms))
	}
	return nil
}

// openObjective opens an objective by its name or file, or that of a run by its folder. The error has the exit code that fits.
func openObjective(nameOrPath string) (*objectives.Objective, error) {
	if flags.IsRun(nameOrPath) {
		r, err := readRecipe(nameOrPath)
		if err != nil {
			return nil, err
		}
		nameOrPath = cmp.Or(r.Train.Objective, objectives.Usual().Name)
	}
	o, err := objectives.Open(nameOrPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cmdline.NoRun(err)
	}
	if err != nil {
		return nil, cmdline.Fail(cmdline.CodeUsage, err)
	}
	return o, nil
}

// openObjectives opens several objectives, whose names must differ.
func openObjectives(names []string) (all []*objectives.Objective, err error) {
	seen := map[string]bool{}
	for _, name := range names {
		o, err := openObjective(name)
		if err != nil {
			return nil, err
		}
		if seen[o.Name] {
			return nil, cmdline.Usage("--objective: two are called %q, want different names", o.Name)
		}
		seen[o.Name] = true
		all = append(all, o)
	}
	return all, nil
}
