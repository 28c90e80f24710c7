package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/history"
)

func newTraceRecordCmd(a *app) *cobra.Command {
	return newCommand(a, &outOptions{}, &cobra.Command{
		Use:   "record LOG...",
		Short: "Make a trace of the jobs in decision logs",
		Long: cmdline.Long(`
Makes a trace in the native format from the jobs that decision logs show. serve and clustergym-kube write such a log with
--decision-log, also in shadow mode, in which clustergym-kube changes nothing. So the trace has the jobs of your own
cluster, whatever scheduler runs them. Give the logs of one cluster in the order in which they were written.

The trace has the jobs that ran and ended: what they asked for, when they were submitted, and how long they ran. A job ends in
the trace when a snapshot no longer shows it, which may be as much too late as the snapshots are apart. After an hour without
a snapshot the end of a job counts as unknown, and the job is left out. Jobs that have not ended yet are left out, too, so
record for much longer than jobs run. Times begin with the first submission. Damaged lines are left out and counted.`),
		Example: `  clustergym trace record decisions.jsonl -o own.csv
  clustergym trace record monday.jsonl tuesday.jsonl -o own.csv.gz
  clustergym trace stats own.csv`,
		Args: cobra.MinimumNArgs(1),
	}, runTraceRecord)
}

// traceRecorded is the result of trace record.
type traceRecorded struct {
	Out     string `json:"out"`
	Jobs    int    `json:"jobs"`
	Damaged int    `json:"damaged_lines"`
	history.Counts
}

func runTraceRecord(ctx context.Context, a *app, opts *outOptions, logs []string) error {
	var h history.History
	r := traceRecorded{Out: opts.Out}
	bar := a.bar("record", "snapshots", 0)
	defer bar.Finish()
	for _, path := range logs {
		damaged, err := recordLog(ctx, a, path, &h, bar)
		if err != nil {
			return err
		}
		r.Damaged += damaged
	}
	bar.Finish()
	jobs := h.Jobs()
	r.Jobs, r.Counts = len(jobs), h.Counts
	if len(jobs) == 0 {
		return fmt.Errorf("%d snapshots show no job that ran and ended, want at least one: %d jobs are still there",
			r.Snapshots, r.Live)
	}
	if err := a.Write(opts.Out, nativeWriter(jobs)); err != nil {
		return err
	}
	if a.JSON && opts.Out != "-" {
		return a.PrintJSON(&r)
	}
	a.Say("%d jobs from %d snapshots", r.Jobs, r.Snapshots)
	for _, left := range []struct {
		n   int
		why string
	}{
		{r.Live, "jobs are still there, and left out"}, {r.Cancelled, "jobs went before they ran, and are left out"},
		{r.Unseen, "jobs ended while there was no snapshot for more than an hour, and are left out"},
		{r.Earlier, "snapshots are earlier than the one before, and left out"}, {r.Damaged, "damaged lines are left out"},
	} {
		if left.n > 0 {
			a.Say("%d %s", left.n, left.why)
		}
	}
	return nil
}

// recordLog adds the snapshots of a log to a history. It returns the number of damaged lines.
func recordLog(ctx context.Context, a *app, path string, h *history.History, bar *progress.Bar) (damaged int, err error) {
	in, done, err := a.open(path, "read decision log")
	if err != nil {
		return 0, err
	}
	defer done()
	for log := decide.NewLogReader(in); ; bar.Add(1) {
		if err := ctx.Err(); err != nil {
			return damaged, err
		}
		r, _, err := log.Next()
		switch {
		case errors.Is(err, io.EOF):
			return damaged, nil
		case errors.Is(err, decide.ErrDamaged):
			damaged++
			continue
		case err != nil:
			return damaged, fmt.Errorf("%s: %w", path, err)
		}
		s, err := cluster.ReadSnapshot(bytes.NewReader(r.Snapshot))
		if err != nil {
			damaged++
			continue
		}
		h.Add(&s.View, r.Away)
	}
}
