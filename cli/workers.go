package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/table"
	"github.com/clustergym/clustergym/internal/work"
)

type workersOptions struct {
	access work.Access
	token  string
	dir    string
}

func newWorkersCmd(a *app) *cobra.Command {
	var opts workersOptions
	cmd := &cobra.Command{
		Use:   "workers {--dir RUN | --connect URL}",
		Short: "Show the workers of a training run in progress",
		Long: cmdline.Long(`
Prints a table of the workers that compute labels for a run in progress: what each does and for how long, how many windows it
has labelled, and their mean time. The state is computes, waits, slow (its window takes more than four times the median and at
least 10 s) or lost (it has said nothing for 7 s; another worker gets its window).

--dir finds a run on this machine. --connect finds any, as for clustergym worker.`,
			cmdline.CodeNoRun),
		Example: `  clustergym workers --dir runs/first
  clustergym workers --connect tls://learner.example:4222 --token-file token --ca cert.pem --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runWorkers(cmd.Context(), a, &opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.dir, "dir", "", "folder of the run")
	addConnectFlags(f, &opts.access, &opts.token)
	cmd.MarkFlagsOneRequired("dir", "connect")
	cmd.MarkFlagsMutuallyExclusive("dir", "connect")
	return cmd
}

// find sets how to reach the broker of the run in the folder.
func (o *workersOptions) find() error {
	read := func(name string) (string, error) {
		text, err := os.ReadFile(filepath.Join(o.dir, contactName, name))
		return strings.TrimSpace(string(text)), err
	}
	url, err := read(urlName)
	if errors.Is(err, fs.ErrNotExist) {
		return cmdline.NoRun(fmt.Errorf("%s: no run with workers is in progress there: it has no %s/%s", o.dir, contactName, urlName))
	}
	if err != nil {
		return err
	}
	if o.access.Queue, err = read(queueName); err != nil {
		return err
	}
	o.access.URL = url
	if token := filepath.Join(o.dir, contactName, tokenName); o.token == "" {
		if _, err := os.Stat(token); !errors.Is(err, fs.ErrNotExist) {
			o.token = token
		}
	}
	return nil
}

func runWorkers(ctx context.Context, a *app, o *workersOptions) error {
	if o.dir != "" {
		if err := o.find(); err != nil {
			return err
		}
	}
	if err := readAccess(&o.access, o.token); err != nil {
		return err
	}
	conn, err := o.access.Connect("workers")
	if err != nil {
		return err
	}
	defer conn.Close()
	s, err := work.Ask(ctx, conn, o.access.Queue)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(s)
	}
	var b strings.Builder
	rows := [][]string{{"worker", "state", "window", "for", "done", "mean", "refused"}}
	for _, w := range s.Workers {
		unit := "-"
		if w.Unit >= 0 {
			unit = strconv.Itoa(w.Unit)
		}
		rows = append(rows, []string{
			w.Name, w.State, unit, seconds(w.For), strconv.Itoa(w.Done), seconds(w.Mean), strconv.Itoa(w.Refused),
		})
	}
	table.Text(&b, 2, rows)
	a.Printf("%s\n%s", poolNote(*s), b.String())
	return nil
}

// seconds returns a time as text.
func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond).String()
}
