// Package cli is the command line of clustergym-studies. It only connects flags to the libraries, which do the work.
package cli

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train"
	"github.com/clustergym/clustergym/train/recipe"
)

// Main runs the command line with which the process was started, and ends the process.
func Main() { cmdline.Main(run) }

// run executes one command line and returns its exit code.
func run(ctx context.Context, a cmdline.App, args []string) int {
	return a.Run(ctx, newRootCmd(&a), args, exitCode)
}

// exitCode returns the exit code for an error of the libraries.
func exitCode(err error) int {
	switch {
	case errors.Is(err, checkpoints.ErrNone):
		return cmdline.CodeNoRun
	case errors.Is(err, recipe.ErrMismatch), errors.Is(err, train.ErrUnfit):
		return cmdline.CodeMismatch
	}
	return cmdline.CodeError
}

// newRootCmd builds the command tree.
func newRootCmd(a *cmdline.App) *cobra.Command {
	root := cmdline.NewRoot(a, "clustergym-studies",
		"Studies behind clustergym: fits, comparisons of predictors and learners, bounds, sweeps, experiments of papers",
		`The studies behind clustergym. They fit the parameters of its performance model, compare predictors of inference demand and
of run times, train standard multi-agent learners, estimate how much any policy could gain on a scenario, and repeat the
experiments of papers next to the papers' figures.

Results go to standard output, progress and notes to standard error. --json prints results and errors as JSON. Later versions
may add fields, so ignore fields that you do not know.`)
	root.AddCommand(
		newExperimentCmd(a), newCompareCmd(a), newDemandCmd(a), newHeadroomCmd(a), newPhysicsCmd(a), newPredictorCmd(a),
		newReproduceCmd(a), newStartsCmd(a), newSweepCmd(a), newTraceCmd(a), newYardsticksCmd(a), cmdline.NewGenDocs(a),
	)
	return root
}

// finder returns a finder of policies that also finds those in the folders of training runs.
func finder() *policy.Finder {
	return &policy.Finder{Table: all.Table(), Run: func(dir string) func() (*agents.Policy, checkpoints.Provenance, error) {
		if _, err := train.ReadRecipe(dir); err != nil {
			return nil
		}
		return func() (*agents.Policy, checkpoints.Provenance, error) { return train.Open(dir, all.Table(), nil) }
	}}
}

// commandLine returns a command line of a program, as a shell reads it.
func commandLine(program string, words ...string) string {
	quoted := []string{program}
	for _, word := range words {
		if !plainWord.MatchString(word) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		quoted = append(quoted, word)
	}
	return strings.Join(quoted, " ")
}

// plainWord matches words that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./,:=+@%-]+$`)
