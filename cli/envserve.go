package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envserve"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// envServeOptions define the environments and how the parent reaches them.
type envServeOptions struct {
	envOptions
	envs, workers     int
	autoreset         string
	requests, replies int
	memory            int
}

func newEnvServeCmd() *cobra.Command {
	var opts envServeOptions
	cmd := &cobra.Command{
		Use:   "serve --scenario S --requests FD --replies FD --memory FD",
		Short: "Serve environments to the program that started this one",
		Long: cmdline.Long(`
Plays environments for the program that started this one, as the Python package does. The two share memory, into which the
environments write observations, masks and rewards, and two pipes, for requests and replies; the comment of the Go package
env/envserve documents both. The starting program passes its ends of the pipes and a file for the memory as open file
descriptors; if the file is not empty, it has what another server has saved, whose episodes go on. The command ends when the other
end of the pipe of requests is closed, however that comes about.`),
		Example: "  clustergym env serve --scenario embedded-small-v1 --envs 16 --requests 3 --replies 4 --memory 5",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runEnvServe(cmd.Context(), opts) },
	}
	opts.addGameFlags(cmd)
	opts.addSplitFlag(cmd)
	f := cmd.Flags()
	f.IntVar(&opts.envs, "envs", 1, "how many environments to play")
	f.IntVar(&opts.workers, "workers", 0, "how many of them to play at a time, 0 for as many as there are cores")
	f.StringVar(&opts.autoreset, "autoreset", env.SameStep.String(), "what happens at the end of an episode: see docs/env.md")
	f.Uint64Var(&opts.cases, "case-seed", 0, "play the cases of eval with this seed: the seed of an episode then only selects its"+
		" window; 0 for episodes that depend on their seeds")
	f.IntVar(&opts.requests, "requests", -1, "file descriptor from which to read requests")
	f.IntVar(&opts.replies, "replies", -1, "file descriptor to which to write replies")
	f.IntVar(&opts.memory, "memory", -1, "file descriptor of the file for the memory; its length is set to what is needed")
	cmdline.Require(cmd, "scenario", "requests", "replies", "memory")
	cmdline.Complete(cmd, "autoreset", autoresetNames)
	return cmd
}

func autoresetNames() []string {
	return []string{env.SameStep.String(), env.NextStep.String(), env.Disabled.String()}
}

// gcPercent is by how much garbage may exceed the live heap of env serve, unless the user has set GOGC.
const gcPercent = 400

func runEnvServe(ctx context.Context, opts envServeOptions) error {
	s, err := opts.server()
	if err != nil {
		return err
	}
	saved, err := envserve.Take(opts.memory)
	if err != nil {
		return err
	}
	memory, err := envserve.Map(opts.memory, s.Size())
	if err != nil {
		return err
	}
	if err := s.Attach(memory); err != nil {
		return err
	}
	if len(saved) > 0 {
		if err := s.Restore(saved); err != nil {
			return err
		}
	}
	if os.Getenv("GOGC") == "" {
		// The heap of a few small environments is so small that the collector would often run.
		debug.SetGCPercent(gcPercent)
	}
	requests := os.NewFile(uintptr(opts.requests), "requests") //nolint:gosec // not negative
	replies := os.NewFile(uintptr(opts.replies), "replies")    //nolint:gosec // not negative
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(s.Serve(requests, replies), s.Close()) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done(): // a signal, while Serve waits for a request
		return nil
	}
}

// server creates the environments and their server.
func (o *envServeOptions) server() (*envserve.Server, error) {
	if o.requests < 0 || o.replies < 0 || o.memory < 0 {
		return nil, cmdline.Usage("--requests %d --replies %d --memory %d: want open file descriptors", o.requests, o.replies, o.memory)
	}
	if o.envs < 1 || o.envs > envserve.MaxEnvs || o.workers < 0 {
		return nil, cmdline.Usage("--envs %d --workers %d: want 1 to %d, and 0 or more", o.envs, o.workers, envserve.MaxEnvs)
	}
	if err := cmdline.OneOf("autoreset", o.autoreset, autoresetNames()...); err != nil {
		return nil, err
	}
	create, err := o.maker()
	if err != nil {
		return nil, err
	}
	cfg := envserve.Config{Workers: o.workers, Version: version, Render: drawEpisode}
	for cfg.Autoreset.String() != o.autoreset {
		cfg.Autoreset++
	}
	for range o.envs {
		e, err := create()
		if err != nil {
			return nil, fmt.Errorf("environment %d: %w", len(cfg.Envs), err)
		}
		cfg.Envs = append(cfg.Envs, e)
	}
	return envserve.New(cfg)
}
