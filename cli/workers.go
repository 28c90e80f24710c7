package cli

import (
	"context"
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
		Use:   "workers {--dir FOLDER | --connect URL}",
		Short: "Show the workers of a command in progress",
		Long: cmdline.Long(`
Prints a table of the workers of a training run or an evaluation in progress: what each does and for how long, how many units
(windows to label, or episodes) it has computed, and their mean time. The state is computes, waits, slow (its unit takes more
than four times the median and at least 10 s) or lost (it has said nothing for 7 s; another worker gets its unit). A worker that
was lost 10 minutes ago is no longer shown.

--dir finds a run or an evaluation on this machine by its folder. --connect finds any, as for clustergym worker.`,
			cmdline.CodeNoRun),
		Example: `  clustergym workers --dir runs/first
  clustergym workers --connect tls://learner.example:4222 --token-file token --ca cert.pem --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runWorkers(cmd.Context(), a, &opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.dir, "dir", "", "folder of the run, or of the results of an evaluation")
	addConnectFlags(f, &opts.access, &opts.token)
	cmd.MarkFlagsOneRequired("dir", "connect")
	cmd.MarkFlagsMutuallyExclusive("dir", "connect")
	return cmd
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
	rows := [][]string{{"worker", "state", "unit", "for", "done", "mean", "refused"}}
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
	a.Printf("%s\n%s", poolNote("units", *s), b.String())
	return nil
}

// seconds returns a time as text.
func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond).String()
}
