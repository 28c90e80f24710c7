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

// Learner is a custom training algorithm. Main adds a command for it, with the flags of an environment and flags of its own. The
// learner itself decides what it learns and where it stores it. The built-in command train trains and stores the team.
type Learner struct {
	Name  string              // name of the command
	About string              // one line for lists of commands
	Flags func(*flag.FlagSet) // declares the learner's own flags, nil for none
	Learn func(ctx context.Context, t *Task) error
}

// Task is what the command line passes to a learner.
type Task struct {
	Source *scenario.Source // of the scenario, nil if the user named none
	Seed   uint64           // for everything random
	// Env creates a new environment of the scenario, as the flags describe it. With n windows in the split (see Source), the episode
	// of a seed is the window seed modulo n.
	Env  func(split scenario.Split) (env.Env, error)
	Out  io.Writer // for results
	Talk io.Writer // for everything else; discards its input with --quiet
	JSON bool      // whether to write results as JSON
}

// addLearners adds the commands of learners. It panics if a name or flag is already in use, because that is an error in the
// calling program.
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
	cmd := newCommand(a, &learnerOptions{}, &cobra.Command{
		Use:   l.Name + " --scenario S",
		Short: l.About,
		Long: cmdline.Long(l.About + `.

Learns in the environment that the flags describe. With the same flags, env describe prints what agents observe and do in it.`),
		Example: "  clustergym " + l.Name + " --scenario embedded-small-v1",
	}, l.run)
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

type learnerOptions struct {
	gameOptions
	Seed uint64 `flag:"seed" default:"1" help:"seed of everything random"`
}

func (l Learner) run(ctx context.Context, a *app, o *learnerOptions, _ []string) error {
	t := Task{Seed: o.Seed, Out: a.Out, Talk: a.Talk, JSON: a.JSON}
	if a.Quiet {
		t.Talk = io.Discard
	}
	if o.Scenario.Name != "" {
		var err error
		if t.Source, err = o.open(); err != nil {
			return err
		}
	}
	t.Env = func(split scenario.Split) (env.Env, error) {
		if t.Source == nil {
			_, err := o.open() // which says that there is no scenario
			return nil, err
		}
		create, err := o.played(t.Source, split)
		if err != nil {
			return nil, err
		}
		return create()
	}
	return l.Learn(ctx, &t)
}
