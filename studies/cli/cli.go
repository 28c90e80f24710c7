// Package cli is the command line of clustergym-studies. It only connects flags to the libraries, which do the work.
package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// Main runs the command line with which the process was started, and ends the process.
func Main() { cmdline.Main(run) }

// run executes one command line and returns its exit code.
func run(ctx context.Context, a cmdline.App, args []string) int {
	return a.Run(ctx, newRootCmd(&a), args, nil)
}

// newRootCmd builds the command tree.
func newRootCmd(a *cmdline.App) *cobra.Command {
	root := cmdline.NewRoot(a, "clustergym-studies",
		"Studies behind clustergym: fits, comparisons of predictors and learners, experiments of papers",
		`The studies behind clustergym. They fit the parameters of its performance model, compare predictors of inference demand and
of run times, train standard multi-agent learners, and repeat the experiments of papers next to the papers' figures.

Results go to standard output, progress and notes to standard error. --json prints results and errors as JSON. Later versions
may add fields, so ignore fields that you do not know.`)
	root.AddCommand(
		newPhysicsCmd(a), newPredictorCmd(a), newDemandCmd(a), newReproduceCmd(a), newYardsticksCmd(a), newStartsCmd(a), cmdline.NewGenDocs(a),
	)
	return root
}
