package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/history"
)

// traceRecorded is the result of the import of decision logs.
type traceRecorded struct {
	Out     string `json:"out"`
	Jobs    int    `json:"jobs"`
	Damaged int    `json:"damaged_lines"`
	history.Counts
}

// importLogs makes a trace of the jobs in decision logs, of which first is the text of the first.
func importLogs(ctx context.Context, a *app, out string, logs []string, first io.Reader) error {
	var h history.History
	r := traceRecorded{Out: out}
	bar := a.bar("import", "snapshots", 0)
	defer bar.Finish()
	for i, path := range logs {
		in, done := first, func() {}
		if i > 0 {
			var err error
			if in, done, err = a.open(path, "read decision log"); err != nil {
				return err
			}
		}
		damaged, err := addLog(ctx, in, &h, bar)
		done()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
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
	if err := a.Write(out, nativeWriter(jobs)); err != nil {
		return err
	}
	if a.JSON && out != "-" {
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

// addLog adds the snapshots of a log to a history. It returns the number of damaged lines.
func addLog(ctx context.Context, in io.Reader, h *history.History, bar *progress.Bar) (damaged int, err error) {
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
			return damaged, err
		}
		s, err := cluster.ReadSnapshot(bytes.NewReader(r.Snapshot))
		if err != nil {
			damaged++
			continue
		}
		h.Add(&s.View, r.Away)
	}
}
