package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/studies/compare"
)

func newCompareCmd(a *cmdline.App) *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "compare RUN...",
		Short: "Compare training runs",
		Long: cmdline.Long(`
Prints a table of training runs, each given by its folder: the settings in which they differ, the updates that they have made,
the best validation result with its margin and update, and the time that they took; then the metrics of the last update, as
far as all runs have them; then the mean, the least and the greatest result of runs that differ only in train.seed, with a
95 % interval for three seeds or more. docs/training.md explains the metrics; TensorBoard
draws them.

A run may be in progress. Folders without a run are left out, with a warning. A star marks a run whose result cannot be
compared with that of the first run, because it has another scenario, prior or reward, or another number of validation
windows.

The results are of validation windows, by which each run chose its weights. The command prints the eval command that compares
the runs on test windows.`, cmdline.CodeNoRun),
		Example: `  clustergym-studies compare runs/*
  clustergym-studies compare runs/* --markdown`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, dirs []string) error { return runCompare(a, dirs, markdown) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print Markdown tables")
	return cmd
}

func runCompare(a *cmdline.App, dirs []string, markdown bool) error {
	list, err := readRuns(a, dirs)
	if err != nil {
		return err
	}
	c, err := compare.Runs(list, func(words ...string) string { return commandLine("clustergym", words...) })
	if err != nil {
		return err
	}
	switch {
	case a.JSON:
		return a.PrintJSON(c)
	case markdown:
		return c.WriteMarkdown(a.Out)
	}
	return c.WriteText(a.Out)
}

// readRuns reads the folders of runs. It leaves out folders without a run, with a warning, if any has one.
func readRuns(a *cmdline.App, dirs []string) ([]*compare.Run, error) {
	var list []*compare.Run
	var none []error
	for _, dir := range dirs {
		r, err := compare.Read(dir)
		if _, missing := os.Stat(dir); errors.Is(err, checkpoints.ErrNone) && missing == nil {
			none = append(none, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, errors.Join(none...)
	}
	for _, err := range none {
		a.Warn(err)
	}
	return list, nil
}
