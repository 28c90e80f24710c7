package cli

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/registry"
)

// Learner is a way to learn of one's own. Main makes it a command with the flags of an environment and its own. What it learns,
// and where that is kept, is its own affair; train is the command that trains and stores the team.
type Learner struct {
	Name  string              // of the command
	About string              // a line for lists of commands
	Flags func(*flag.FlagSet) // declares flags of its own, nil for none
	Learn func(ctx context.Context, t *Task) error
}

// Task is what a command line asks a learner to learn.
type Task struct {
	Source *scenario.Source // of the scenario, nil where none was named
	Seed   uint64           // of everything random
	// Env makes a fresh environment of the scenario, as the flags describe it. The episode of a seed is a window of the split: with
	// n windows, of which Source tells, that of seed modulo n.
	Env  func(split scenario.Split) (env.Env, error)
	Out  io.Writer // for results
	Talk io.Writer // for everything else; nothing is shown with --quiet
	JSON bool      // whether results are to be JSON
}

// addLearners adds the commands of learners. One whose name or flag is taken is a mistake in the code of main: it panics.
func addLearners(a *app, root *cobra.Command) {
	taken := registry.New[bool]("command").With("help", true).With("completion", true) // which cobra adds
	for _, cmd := range root.Commands() {
		taken.Add(cmd.Name(), true)
	}
	for _, l := range a.learners {
		taken.Add(l.Name, true)
		root.AddCommand(newLearnerCmd(a, root, l))
	}
}

func newLearnerCmd(a *app, root *cobra.Command, l Learner) *cobra.Command {
	var opts envOptions
	cmd := &cobra.Command{
		Use:   l.Name + " --scenario S",
		Short: l.About,
		Long: cmdline.Long(l.About + `.

Learns in the environment that the flags describe. env describe prints, with the same flags, what agents see and may do in it.`),
		Example: "  clustergym " + l.Name + " --scenario embedded-small-v1",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runLearner(cmd.Context(), a, l, &opts) },
	}
	opts.addGameFlags(cmd)
	cmd.Flags().Uint64Var(&opts.seed, "seed", 1, "of everything random")
	if l.Flags == nil {
		return cmd
	}
	own := flag.NewFlagSet(l.Name, flag.ContinueOnError)
	l.Flags(own)
	own.VisitAll(func(f *flag.Flag) {
		if cmd.Flags().Lookup(f.Name) != nil || root.PersistentFlags().Lookup(f.Name) != nil || f.Name == "help" {
			panic(fmt.Sprintf("command %q: flag --%s: the command has one of that name", l.Name, f.Name))
		}
		cmd.Flags().AddGoFlag(f)
	})
	return cmd
}

func runLearner(ctx context.Context, a *app, l Learner, opts *envOptions) error {
	t := Task{Seed: opts.seed, Out: a.Out, Talk: a.Talk, JSON: a.JSON}
	if a.Quiet {
		t.Talk = io.Discard
	}
	if opts.scenario.Name != "" {
		var err error
		if t.Source, err = opts.open(); err != nil {
			return err
		}
	}
	t.Env = func(split scenario.Split) (env.Env, error) {
		if t.Source == nil {
			return nil, cmdline.Usage("no scenario: name one with --scenario, see clustergym scenario ls")
		}
		cfg, err := opts.dealt(t.Source, split)
		if err != nil {
			return nil, err
		}
		create, err := opts.played(cfg)
		if err != nil {
			return nil, err
		}
		return create()
	}
	return l.Learn(ctx, &t)
}
