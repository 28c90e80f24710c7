package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/envserve"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// envServeOptions define the environments and how the parent reaches them.
type envServeOptions struct {
	envOptions
	Envs      int      `flag:"envs" default:"1" help:"how many environments to play"`
	Workers   int      `flag:"workers" min:"0" help:"how many of them to play at a time, 0 for as many as there are cores"`
	Autoreset string   `flag:"autoreset" default:"same-step" of:"autoreset" help:"what happens at the end of an episode: see docs/env.md"`
	CaseSeed  uint64   `flag:"case-seed" help:"play the cases of eval with this seed: the seed of an episode then only selects its window; 0 for episodes that depend on their seeds"`
	FDs       []string `flag:"fds" required:"true" help:"file descriptors: of the requests to read, of the replies to write, and of the file for the memory"`
}

func newEnvServeCmd(a *app) *cobra.Command {
	return newCommand(a, &envServeOptions{}, &cobra.Command{
		Use:   "serve --scenario S --fds FD,FD,FD",
		Short: "Serve environments to the program that started this one",
		Long: cmdline.Long(`
Plays environments for the program that started this one, as the Python package does. The two share memory, into which the
environments write observations, masks and rewards, and two pipes, for requests and replies; the comment of the Go package
env/envserve documents both. The starting program passes its ends of the pipes and a file for the memory as open file
descriptors; if the file is not empty, it has what another server has saved, whose episodes go on. The command ends when the other
end of the pipe of requests is closed, however that comes about.`),
		Example: "  clustergym env serve --scenario embedded-small-v1 --envs 16 --fds 3,4,5",
	}, runEnvServe)
}

// gcPercent is by how much garbage may exceed the live heap of env serve, unless the user has set GOGC.
const gcPercent = 400

func runEnvServe(ctx context.Context, _ *app, opts *envServeOptions, _ []string) error {
	var fds []int
	for _, text := range opts.FDs {
		if fd, err := strconv.Atoi(text); err == nil && fd >= 0 {
			fds = append(fds, fd)
		}
	}
	if len(fds) != 3 || len(opts.FDs) != 3 {
		return cmdline.Usage("--fds %s: want three open file descriptors", strings.Join(opts.FDs, ","))
	}
	s, err := opts.server()
	if err != nil {
		return err
	}
	saved, err := envserve.Take(fds[2])
	if err != nil {
		return err
	}
	memory, err := envserve.Map(fds[2], s.Size())
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
	requests := os.NewFile(uintptr(fds[0]), "requests") //nolint:gosec // not negative
	replies := os.NewFile(uintptr(fds[1]), "replies")   //nolint:gosec // not negative
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
	if o.Envs < 1 || o.Envs > envserve.MaxEnvs {
		return nil, cmdline.Usage("--envs %d: want 1 to %d", o.Envs, envserve.MaxEnvs)
	}
	o.cases = o.CaseSeed
	create, err := o.maker()
	if err != nil {
		return nil, err
	}
	cfg := envserve.Config{Workers: o.Workers, Version: version, Render: drawEpisode}
	for cfg.Autoreset.String() != o.Autoreset {
		cfg.Autoreset++
	}
	for range o.Envs {
		e, err := create()
		if err != nil {
			return nil, fmt.Errorf("environment %d: %w", len(cfg.Envs), err)
		}
		cfg.Envs = append(cfg.Envs, e)
	}
	return envserve.New(cfg)
}
