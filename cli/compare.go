package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/eval/figure"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/train"
	"github.com/clustergym/clustergym/train/compare"
)

type compareOptions struct {
	markdown bool
	plot     string
}

func newCompareCmd(a *app) *cobra.Command {
	var opts compareOptions
	cmd := &cobra.Command{
		Use:   "compare RUN...",
		Short: "Compare training runs",
		Long: cmdline.Long(`
Prints a table of training runs, each given by its folder: the settings in which they differ, the updates that they have made,
the best validation result with its margin and update, and the time that they took; then the metrics of the last update, as
far as all runs have them; then the mean, the least and the greatest result of runs that differ only in train.seed, with a
95 % interval for three seeds or more. docs/training.md explains the metrics.

A run may be in progress. Folders without a run are left out, with a warning. A star marks a run whose result cannot be
compared with that of the first run, because it has another scenario, prior or reward, or another number of validation
windows.

The results are of validation windows, by which each run chose its weights. The command prints the eval command that compares
the runs on test windows.`, cmdline.CodeNoRun),
		Example: `  clustergym compare runs/*
  clustergym compare runs/seed1 runs/seed2 runs/seed3 --plot curves.svg
  clustergym compare runs/* --markdown`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, dirs []string) error { return runCompare(a, opts, dirs) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opts.markdown, "markdown", false, "print Markdown tables")
	f.StringVar(&opts.plot, "plot", "", "draw the validation results over the updates into this file: .svg, .png or .pdf")
	return cmd
}

func runCompare(a *app, opts compareOptions, dirs []string) error {
	format := strings.TrimPrefix(filepath.Ext(opts.plot), ".")
	if opts.plot != "" {
		if err := cmdline.OneOf("plot", format, figure.Formats()...); err != nil {
			return err
		}
	}
	list, err := readRuns(a, dirs)
	if err != nil {
		return err
	}
	c, err := compare.Runs(list, next)
	if err != nil {
		return err
	}
	if opts.plot != "" {
		if err := drawRuns(a, opts.plot, format, c, list); err != nil {
			return err
		}
	}
	switch {
	case a.JSON:
		return a.PrintJSON(c)
	case opts.markdown:
		return c.WriteMarkdown(a.Out)
	}
	return c.WriteText(a.Out)
}

// readRuns reads the folders of runs. It leaves out folders without a run, with a warning, if any has one.
func readRuns(a *app, dirs []string) ([]*compare.Run, error) {
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

// drawRuns draws the validations of every run as a line.
func drawRuns(a *app, path, format string, c *compare.Comparison, list []*compare.Run) error {
	var lines []figure.Line
	for i, r := range list {
		if x, y := r.Curve(); len(x) > 0 {
			lines = append(lines, figure.Line{Name: c.Runs[i].Name, X: x, Y: y})
		}
	}
	if len(lines) == 0 {
		return fmt.Errorf("--plot %s: no run has validated its policy yet", path)
	}
	what, _ := train.Compared(list[0].Recipe.Train.Reward)
	f, err := figure.Curves(what, lines, nil)
	if err != nil {
		return err
	}
	return a.Write(path, func(w io.Writer) error { return f.Write(w, format) })
}
