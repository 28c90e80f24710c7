package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/studies/experiment"
)

func newExperimentCmd(a *cmdline.App) *cobra.Command {
	return cmdline.NewGroup("experiment", "Play the tables of pages, and check that pages show what commands print",
		`A file in `+experiment.Folder+` describes an experiment: what is trained, and which commands print the tables of which page.
The commands work in the root folder of the repository and call the program clustergym that lies beside this one.`,
		newExperimentRunCmd(a), newExperimentCheckCmd(a), newExperimentLsCmd(a))
}

// experimentOptions are the flags that run and check share.
type experimentOptions struct {
	tables  string
	workers int
}

func (o *experimentOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.tables, "tables", "", "regular expression of the markers of the tables to play (default all)")
	f.IntVar(&o.workers, "workers", 0, "processes in which evaluations play their cases, with the same results; 0 for none")
}

// each calls do for the experiments with the given names.
func (o *experimentOptions) each(ctx context.Context, a *cmdline.App, names []string,
	do func(*experiment.Lab, *experiment.File) error) error {
	lab := &experiment.Lab{Root: ".", Command: runProgram(a), Say: a.Say, Workers: o.workers}
	if o.workers < 0 {
		return cmdline.Usage("--workers %d: want 0 or more", o.workers)
	}
	if o.tables != "" {
		only, err := regexp.Compile(o.tables)
		if err != nil {
			return cmdline.Usage("--tables %q: %v", o.tables, err)
		}
		lab.Only = only
	}
	files := make([]*experiment.File, len(names))
	for i, name := range names {
		f, err := openExperiment(name)
		if err != nil {
			return err
		}
		files[i] = f
	}
	for _, f := range files {
		if err := do(lab, f); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func openExperiment(name string) (*experiment.File, error) {
	known, err := experiment.Names(".")
	if err != nil {
		return nil, cmdline.Fail(cmdline.CodeUsage, err)
	}
	if !slices.Contains(known, name) {
		return nil, cmdline.Usage("experiment %q: want one of %s%s", name, strings.Join(known, ", "), cmdline.DidYouMean(name, known))
	}
	return experiment.Open(".", name)
}

// runProgram returns a function that runs one of the two programs, whose messages go to standard error.
func runProgram(a *cmdline.App) func(context.Context, []string, ...string) ([]byte, error) {
	return func(ctx context.Context, env []string, args ...string) ([]byte, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), args[0]), args[1:]...)
		cmd.Env = append(os.Environ(), env...)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it keeps what is finished
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, a.Talk
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(args, " "), errors.Join(err, ctx.Err()))
		}
		return out.Bytes(), nil
	}
}

func newExperimentRunCmd(a *cmdline.App) *cobra.Command {
	var opts experimentOptions
	cmd := &cobra.Command{
		Use:   "run NAME...",
		Short: "Train what experiments compare, play their tables and write them to their pages",
		Long: cmdline.Long(`
Trains first, then plays the tables and writes them between the markers of the pages. Trainings that have ended are not repeated,
those that were stopped go on, and evaluations keep finished cases in their --out folders.`),
		Example: `  clustergym-studies experiment run told
  clustergym-studies experiment run learned --tables '^noise' --workers 2`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeExperiments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.each(cmd.Context(), a, args, func(l *experiment.Lab, f *experiment.File) error { return l.Run(cmd.Context(), f) })
		},
	}
	opts.addFlags(cmd)
	return cmd
}

func newExperimentCheckCmd(a *cmdline.App) *cobra.Command {
	var opts experimentOptions
	cmd := &cobra.Command{
		Use:   "check NAME...",
		Short: "Fail unless pages show what the commands of experiments print",
		Long: cmdline.Long(`
Plays the tables, compares them with the pages and names the first line that differs. It trains and writes nothing. An experiment
that needs traces which are not there is left out, except with CI=true.`),
		Example:           "  clustergym-studies experiment check policies",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeExperiments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.each(cmd.Context(), a, args, func(l *experiment.Lab, f *experiment.File) error {
				if f.Traces && !haveTraces() && os.Getenv("CI") != "true" {
					a.Say("%s: no traces in %s, so its tables are not checked", f.Name, scenario.SharedFolder())
					return nil
				}
				return l.Check(cmd.Context(), f)
			})
		},
	}
	opts.addFlags(cmd)
	return cmd
}

// haveTraces reports whether a folder of traces is there.
func haveTraces() bool {
	return slices.ContainsFunc(scenario.SharedFolders(), func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, "traces"))
		return err == nil && info.IsDir()
	})
}

// experimentItem describes an experiment.
type experimentItem struct {
	Name      string   `json:"name"`
	About     string   `json:"about"`
	Page      string   `json:"page"`
	Tables    []string `json:"tables"`
	Trainings int      `json:"trainings"`
	Missing   []string `json:"missing,omitempty"` // folders of trainings without a run
}

func newExperimentLsCmd(a *cmdline.App) *cobra.Command {
	return &cobra.Command{
		Use:               "ls [NAME...]",
		Short:             "List experiments: trainings and how many are missing, tables, page",
		Long:              cmdline.Long(`Lists all experiments, or those with the given names with their tables.`),
		Example:           "  clustergym-studies experiment ls\n  clustergym-studies experiment ls learned --json",
		ValidArgsFunction: completeExperiments,
		RunE: func(_ *cobra.Command, args []string) error {
			names := args
			if len(names) == 0 {
				var err error
				if names, err = experiment.Names("."); err != nil {
					return cmdline.Fail(cmdline.CodeUsage, err)
				}
			}
			return runExperimentLs(a, names, len(args) > 0)
		},
	}
}

func runExperimentLs(a *cmdline.App, names []string, tables bool) error {
	var list []experimentItem
	rows := [][]string{{"name", "trainings", "missing", "tables", "page", "about"}}
	for _, name := range names {
		f, err := openExperiment(name)
		if err != nil {
			return err
		}
		runs, err := f.Runs()
		if err != nil {
			return err
		}
		missing, err := (&experiment.Lab{Root: "."}).Missing(f)
		if err != nil {
			return err
		}
		row := experimentItem{Name: f.Name, About: f.About, Page: f.Page, Trainings: len(runs), Missing: missing}
		for _, t := range f.Tables {
			row.Tables = append(row.Tables, t.Marker)
		}
		shown := fmt.Sprint(len(row.Tables))
		if tables {
			shown = strings.Join(row.Tables, " ")
		}
		list = append(list, row)
		rows = append(rows, []string{row.Name, fmt.Sprint(row.Trainings), fmt.Sprint(len(missing)), shown, row.Page, row.About})
	}
	if a.JSON {
		return a.PrintJSON(list)
	}
	return a.PrintRows(rows)
}

func completeExperiments(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names, _ := experiment.Names(".") // elsewhere there is nothing to complete
	return names, cobra.ShellCompDirectiveNoFileComp
}
