package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/clustergym/clustergym/internal/names"
)

// startWorkers starts the worker processes of this machine, and starts them again if they die, until ctx ends.
func (p *workerPool) startWorkers(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"worker", "--connect", p.url(), "--queue", p.access.Queue, "--with-parent", "--quiet"}
	for _, flag := range []struct{ name, value string }{{"--creds", p.access.Creds}, {"--ca", p.authority()}} {
		if flag.value != "" {
			args = append(args, flag.name, flag.value)
		}
	}
	for range p.Workers {
		p.tasks.Go(func() { p.keep(ctx, program, args) })
	}
	return nil
}

// authority returns the file of the certificates that a worker of this machine trusts: that of the run's own broker, if
// it has one.
func (p *workerPool) authority() string {
	if p.broker != nil {
		return p.Cert
	}
	return p.access.CA
}

// maxStarts is how often a worker may end with an error, one time after another, before the pool gives up. A worker that has run
// for the time soundTime before does not count.
const (
	maxStarts = 3
	soundTime = 10 * time.Minute
)

// keep runs a worker process again and again until ctx ends. A process that is killed is started again; the pool ends if several
// processes end with an error one after another.
func (p *workerPool) keep(ctx context.Context, program string, args []string) {
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.WaitDelay = 5 * time.Second
		cmd.Env = append(os.Environ(), tokenVariable+"="+p.access.Token)
		var talk bytes.Buffer
		cmd.Stderr = &talk
		stdin, err := cmd.StdinPipe() // the worker ends when this process ends and so closes it
		if err == nil {
			cmd.Cancel = stdin.Close
			if err = cmd.Start(); err == nil {
				err = cmd.Wait()
			}
			_ = stdin.Close()
		}
		text := names.Escape(strings.TrimSpace(talk.String()))
		exit := new(exec.ExitError)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil: // the pool has just ended
		case errors.As(err, &exit) && exit.ExitCode() < 0: // a signal ended it
			p.warn(fmt.Errorf("a worker process was killed (%w): starting another", err))
		default:
			if time.Since(began) > soundTime {
				failures = 0
			}
			if failures++; failures >= maxStarts {
				p.pool.Fail(fmt.Errorf("worker process: %w: %s", err, text))
				return
			}
			p.warn(fmt.Errorf("worker process: %w: %s: starting another", err, text))
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
