package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/train"
)

type workerOptions struct {
	connectOptions
	Name   string        `flag:"name" help:"name in the learner's table (default made of the machine's name and the process)"`
	Wait   time.Duration `flag:"wait" default:"10m" help:"how long to wait for a learner that cannot be reached, 0 for without end"`
	Parent bool          `flag:"with-parent" help:"end when standard input ends, as the workers that train starts do"`
}

func newWorkerCmd(a *app) *cobra.Command {
	return newCommand(a, &workerOptions{}, &cobra.Command{
		Use:   "worker --connect URL",
		Short: "Do part of the work of a command on another machine",
		Long: cmdline.Long(`
Does work for a command with --listen or --broker, called the learner, one unit at a time, on one core: it computes the labels of
a window or plays an episode for clustergym train, and plays an episode for clustergym eval and tune. Start as many workers as
the machine has cores to spare. The learner sends what a worker must know; a worker keeps nothing and may be killed at any time:
another one computes its unit then.

The learner accepts only workers that run the same program on a processor that computes the same numbers, because only these
compute the same results. It checks every answer: its digest, its form, and that its numbers are finite. It cannot know whether
finite numbers are right, so give the token only to machines that you trust. A scenario that reads a trace needs the same file
here, at the same path, and so does a policy from a folder.

--connect is the address that the learner's --listen or --broker uses. Addresses of other machines need TLS. The token is that of
the learner, in --token-file or ` + tokenVariable + `; --creds is for an external server of NATS. Without a learner the
worker waits, at most for the time --wait. It ends when the learner has all answers; with an error on SIGINT and SIGTERM, and if
the learner refuses it.`),
		Example: `  clustergym worker --connect tls://learner.example:4222 --token-file token --ca cert.pem
  clustergym worker --connect tls://nats.example:4222 --creds worker.creds --queue mine`,
	}, runWorker)
}

func runWorker(ctx context.Context, a *app, o *workerOptions, _ []string) error {
	access, err := o.access()
	if err != nil {
		return err
	}
	if o.Name == "" {
		host, _ := os.Hostname()
		o.Name = fmt.Sprintf("%.48s-%d-%.4s", cmp.Or(unnamed.ReplaceAllString(host, "-"), "worker"), os.Getpid(), work.NewToken())
	} else if unnamed.MatchString(o.Name) || len(o.Name) > 80 {
		return cmdline.Usage("--name %q, want at most 80 letters, digits, '.', '-' and '_'", o.Name)
	}
	build, err := work.Build(train.Arithmetic())
	if err != nil {
		return err
	}
	if o.Parent {
		var stop context.CancelFunc
		// A terminal sends an interrupt to all processes, but the learner still needs the labels of the update in progress.
		ctx, stop = context.WithCancel(context.WithoutCancel(ctx))
		go func() { _, _ = io.Copy(io.Discard, a.In); stop() }()
	}
	runtime.GOMAXPROCS(1) // one core: more would only add threads for the garbage collector
	conn, err := access.Await(ctx, o.Name, o.Wait)
	if err != nil || conn == nil {
		return cmp.Or(err, o.interrupted(ctx))
	}
	training := train.Worker{Given: eval.Given, Table: a.table()}
	w := work.Worker{
		Conn: conn, Name: o.Name, Queue: o.Queue, Build: build, Wait: o.Wait,
		Open: func(ctx context.Context, job []byte) (work.Compute, error) { return a.openJob(ctx, &training, job) },
		Told: func(text string) { a.Say("worker %s: %s", o.Name, text) },
	}
	err = w.Run(ctx)
	if refused := new(work.RefusedError); errors.As(err, &refused) {
		return cmdline.Fail(cmdline.CodeMismatch, err)
	}
	return cmp.Or(err, o.interrupted(ctx))
}

// interrupted returns an error if a signal has ended a worker: a Job of Kubernetes does not replace workers that end without one.
func (o *workerOptions) interrupted(ctx context.Context) error {
	if ctx.Err() == nil || o.Parent {
		return nil
	}
	return fmt.Errorf("worker %s: %w", o.Name, context.Cause(ctx))
}

// openJob prepares for a job of any kind. The parameter training opens jobs of train.
func (a *app) openJob(ctx context.Context, training *train.Worker, job []byte) (work.Compute, error) {
	kind, text, _ := bytes.Cut(job, []byte("\n"))
	var compute work.Compute
	var err error
	switch string(kind) {
	case trainJob:
		compute, err := training.Open(ctx, text)
		return work.Compute(compute), err
	case caseJob:
		compute, err = a.openEvalJob(text)
	default:
		err = fmt.Errorf("kind %.20q, want %s or %s", kind, trainJob, caseJob)
	}
	if err != nil {
		return nil, fmt.Errorf("open job: %w", err)
	}
	return compute, nil
}

var unnamed = regexp.MustCompile(`[^0-9a-zA-Z._-]+`)
