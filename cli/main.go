// Package cli is the command line of clustergym, for any main to run. It only wires flags to the libraries of this module: what a
// command does, they do.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/internal/names"
)

// version is what the build says: see the Makefile.
var version = "unknown"

// Main runs the command line that the process was started with, and ends the process. Each learner is one command more.
func Main(learners ...Learner) {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, release) // the first signal ends the unit in work, the second the process
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, learners...))
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, in io.Reader, out, talk io.Writer, learners ...Learner) int {
	all.Register()
	a := &app{in: in, out: &output{w: out}, talk: talk, learners: learners}
	err := execute(ctx, a, args)
	if err == nil {
		err = a.out.err
	}
	if err == nil {
		return codeOK
	}
	code := exitCode(ctx, err)
	var own *exitError
	if code == codeInterrupted && !errors.As(err, &own) {
		err = fmt.Errorf("interrupted: %w", err)
	}
	if a.json || slices.Contains(args, "--json") { // the flags may not have been read so far
		_ = json.NewEncoder(talk).Encode(errorJSON{Error: err.Error(), Code: code})
		return code
	}
	_, _ = fmt.Fprintf(talk, "clustergym: %s\n", names.Escape(err.Error())) // it may quote what a file holds
	return code
}

// errorJSON is an error under --json, on standard error.
type errorJSON struct {
	Error string `json:"error"`
	Code  int    `json:"code"`
}

// execute runs a command line. An error before the command proper begins is one of usage.
func execute(ctx context.Context, a *app, args []string) error {
	root := newRootCmd(a)
	began := false
	wrap(root, &began)
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.talk)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !began {
		return &exitError{codeUsage, fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())}
	}
	return err
}

// wrap notes when a command of the tree begins.
func wrap(cmd *cobra.Command, began *bool) {
	if inner := cmd.RunE; inner != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			*began = true
			return inner(c, args)
		}
	}
	for _, sub := range cmd.Commands() {
		wrap(sub, began)
	}
}

// newRootCmd builds the whole command tree.
func newRootCmd(a *app) *cobra.Command {
	root := newGroup("clustergym", "Train, compare and run schedulers for GPU clusters",
		`A gym for scheduling deep-learning jobs on GPU clusters: real traces, exact simulation, heuristics,
a learned team of server agents, and fair comparisons between them.

Results go to standard output, talk to standard error. --json makes results, and errors, JSON: fields may be added, so
ignore those you do not know. A warning is then an object of its own, {"warning": "..."}, on standard error.`)
	root.Example = `  clustergym quickstart
  clustergym simulate --trace jobs.csv --servers 8 --gpus-per-server 8 --policy srtf
  clustergym eval --scenario embedded-small-v1 --policies fifo,sjfskip,srtf,las`
	root.Version = version
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetVersionTemplate("clustergym {{.Version}}\n")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the result, and errors, as JSON")
	root.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "print no talk and no progress")
	root.AddCommand(
		newSimulateCmd(a), newReplayCmd(a), newTraceCmd(a), newScenarioCmd(a), newPhysicsCmd(a), newBaselinesCmd(a),
		newPredictorCmd(a), newEnvCmd(a), newTrainCmd(a), newEvalCmd(a), newReproduceCmd(a), newExportCmd(a), newPlanCmd(a),
		newWhatifCmd(a), newServeCmd(a), newHeadroomCmd(a), newDemandCmd(a), newQuickstartCmd(a),
		newVersionCmd(a), newGenDocsCmd(a),
	)
	addLearners(a, root)
	return root
}

// newGroup returns a command that only holds others.
func newGroup(use, short, long string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), didYouMean(args[0], names))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(subs...)
	return cmd
}
