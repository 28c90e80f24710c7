// Package cli implements the command line of clustergym, for use by any main function. It only connects flags to the libraries of
// this module, which do the work of the commands.
package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train"
	"github.com/clustergym/clustergym/train/recipe"
)

// version is the version of the build, which the Makefile sets.
var version = "unknown"

// An Addition is what a main function adds to the command line: a Learner, or Schedulers.
type Addition interface{ addTo(a *app) }

// Schedulers are baselines that a main function adds, see baselines.Own.
type Schedulers []baselines.Baseline

func (s Schedulers) addTo(a *app) { a.own = append(a.own, s...) }

func (l Learner) addTo(a *app) { a.learners = append(a.learners, l) }

// Main runs the process's command line and exits the process.
func Main(added ...Addition) {
	program = calledAs(os.Args[0])
	cmdline.Main(func(ctx context.Context, a cmdline.App, args []string) int {
		return run(ctx, a, args, added...)
	})
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, shared cmdline.App, args []string, added ...Addition) int {
	a := &app{App: shared}
	for _, one := range added {
		one.addTo(a)
	}
	return a.Run(ctx, newRootCmd(a), args, ExitCode)
}

// ExitCode returns the exit code for an error of the libraries.
func ExitCode(err error) int {
	var name *policy.NameError
	switch {
	case errors.As(err, &name) && name.Folder:
		return cmdline.CodeNoRun
	case errors.As(err, &name):
		return cmdline.CodeUsage
	case errors.Is(err, checkpoints.ErrNone):
		return cmdline.CodeNoRun
	case errors.Is(err, recipe.ErrMismatch), errors.Is(err, train.ErrUnfit), errors.Is(err, checkpoints.ErrForeign),
		errors.Is(err, checkpoints.ErrNewer), errors.Is(err, checkpoints.ErrUnsigned):
		return cmdline.CodeMismatch
	}
	return cmdline.CodeError
}

// newRootCmd returns the root of the command tree.
func newRootCmd(a *app) *cobra.Command {
	root := cmdline.NewRoot(&a.App, "clustergym", "Train, compare and run schedulers for GPU clusters",
		`A gym for scheduling deep-learning jobs on GPU clusters: real traces, exact simulation, heuristics, a learned team of server
agents, and fair comparisons between them.

Results go to standard output, progress, notes and warnings to standard error. --json prints results and errors as JSON. Later
versions may add fields, so ignore fields that you do not know. A warning is then an object of its own, {"warning": "..."}.`)
	root.Example = `  clustergym quickstart
  clustergym simulate --trace jobs.csv --servers 8 --gpus-per-server 8 --policy srtf
  clustergym eval --scenario embedded-small-v1 --policies fifo,sjfskip,srtf,las`
	root.Version = version
	root.SetVersionTemplate("clustergym {{.Version}}\n")
	root.AddCommand(
		newSimulateCmd(a), newReplayCmd(a), newTraceCmd(a), newScenarioCmd(a), newBaselinesCmd(a), newObjectiveCmd(a),
		newEnvCmd(a), newTrainCmd(a), newWorkerCmd(a), newWorkersCmd(a),
		newEvalCmd(a), newTuneCmd(a), newExportCmd(a),
		newSnapshotCmd(a), newPlanCmd(a), newWhatifCmd(a), newServeCmd(a),
		newBenchCmd(a), newBeliefsCmd(a), newQuickstartCmd(a), newDemoCmd(a),
		newDoctorCmd(a), cmdline.NewGenDocs(&a.App),
	)
	addLearners(a, root)
	return root
}
