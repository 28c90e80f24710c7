// Package cli is the command line of clustergym-studies. It only connects flags to the libraries, which do the work.
package cli

import (
	"context"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/cli"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/studies/rivals"
	"github.com/clustergym/clustergym/train"
)

// Main runs the command line with which the process was started, and ends the process.
func Main() { cmdline.Main(run) }

// program is the name of the program.
const program = "clustergym-studies"

// run executes one command line and returns its exit code.
func run(ctx context.Context, shared cmdline.App, args []string) int {
	a, root := newRoot(shared)
	return a.Run(ctx, root, args, cli.ExitCode)
}

// newRoot builds the command tree, and returns the App that all commands share, too. The commands that play policies are those
// of clustergym, with the policies of package rivals.
func newRoot(shared cmdline.App) (*cmdline.App, *cobra.Command) {
	a, playing := cli.Playing(program, shared, rivals.All())
	root := newRootCmd(a)
	for _, cmd := range playing {
		cmd.Example = examples[cmd.Name()]
		root.AddCommand(cmd)
	}
	return a, root
}

// examples are those of the commands that play policies.
var examples = map[string]string{
	"eval":   "  clustergym-studies eval --scenario embedded-small-v1 --policies gavel,pollux,rollout,spjf",
	"bench":  "  clustergym-studies bench --policy gavel --untold gavel+know:speed=fit:seen=training --out runs/gavel",
	"worker": "  clustergym-studies worker --connect tls://learner.example:4222 --token-file token --ca cert.pem",
}

// newRootCmd builds the command tree.
func newRootCmd(a *cmdline.App) *cobra.Command {
	root := cmdline.NewRoot(a, program,
		"Studies behind clustergym: fits, comparisons of predictors and learners, bounds, sweeps, experiments of papers",
		`The studies behind clustergym. They fit the parameters of its performance model, compare predictors of inference demand and
of run times, train standard multi-agent learners, estimate how much any policy could gain on a scenario, and repeat the
experiments of papers next to the papers' figures. eval and bench are those of clustergym, and know policies that only
comparisons of papers play, too.

Results go to standard output, progress and notes to standard error. --json prints results and errors as JSON. Later versions
may add fields, so ignore fields that you do not know.`)
	root.AddCommand(
		newExperimentCmd(a), newBenchTasksCmd(a), newCompareCmd(a), newDemandCmd(a), newHeadroomCmd(a), newPhysicsCmd(a),
		newPredictorCmd(a), newReproduceCmd(a), newStartsCmd(a), newSweepCmd(a), newTraceCmd(a), newYardsticksCmd(a),
		cmdline.NewGenDocs(a),
	)
	return root
}

// finder returns a finder of policies that also finds those in the folders of training runs.
func finder() *policy.Finder {
	return &policy.Finder{Table: rivals.Table(), Run: func(dir string) func() (*agents.Policy, checkpoints.Provenance, error) {
		if _, err := train.ReadRecipe(dir); err != nil {
			return nil
		}
		return func() (*agents.Policy, checkpoints.Provenance, error) { return train.Open(dir, rivals.Table(), nil) }
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
