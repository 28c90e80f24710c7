package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/work"
)

type workersOptions struct {
	connectOptions
	Dir string `flag:"dir" file:"dir" help:"folder of the run, or of the results of an evaluation"`
}

func newWorkersCmd(a *app) *cobra.Command {
	cmd := newCommand(a, &workersOptions{}, &cobra.Command{
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
	}, runWorkers)
	cmd.MarkFlagsOneRequired("dir", "connect")
	cmd.MarkFlagsMutuallyExclusive("dir", "connect")
	return cmd
}

func runWorkers(ctx context.Context, a *app, o *workersOptions, _ []string) error {
	reach := o.access
	if o.Dir != "" {
		reach = o.find
	}
	access, err := reach()
	if err != nil {
		return err
	}
	conn, err := access.Connect("workers")
	if err != nil {
		return err
	}
	defer conn.Close()
	s, err := work.Ask(ctx, conn, access.Queue)
	if err != nil {
		return err
	}
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
	if !a.JSON {
		a.Printf("%s\n", poolNote("units", *s))
	}
	return a.Print(s, rows)
}

// seconds returns a time as text.
func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond).String()
}
