package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
)

type statsOptions struct {
	traceInput
	GPUs int `flag:"gpus" min:"0" help:"print the load that the trace offers to this many GPUs"`
}

func newTraceStatsCmd(a *app) *cobra.Command {
	return newCommand(a, &statsOptions{}, &cobra.Command{
		Use:   "stats FILE",
		Short: "Describe a trace",
		Long: cmdline.Long(`
Prints how many jobs a trace has, their sizes, durations and arrivals, and how many rows are no jobs and why. With --gpus it
also prints the load that the trace offers to this many GPUs.`),
		Example: `  clustergym trace stats philly.csv.gz --gpus 545
  clustergym trace stats venus.csv.gz --format helios --json`,
		Args: cobra.ExactArgs(1),
	}, runTraceStats)
}

// traceStats is the result of trace stats.
type traceStats struct {
	Trace          string        `json:"trace"`
	Format         trace.Format  `json:"format"`
	Rows           int           `json:"rows"`
	CPUOnly        int           `json:"cpu_only_rows"`
	NeverScheduled int           `json:"never_scheduled_rows"`
	Left           trace.Counts  `json:"left_out,omitempty"` // all rows that are no jobs, by why
	BadRows        int           `json:"bad_rows"`
	Days           float64       `json:"days"`
	GPUs           int           `json:"gpus,omitempty"`
	Load           float64       `json:"load,omitempty"` // requested GPU time divided by available GPU time
	Statuses       []statusCount `json:"statuses"`
	trace.Stats
}

type statusCount struct {
	Status string `json:"status"`
	Jobs   int    `json:"jobs"`
}

func runTraceStats(ctx context.Context, a *app, opts *statsOptions, args []string) error {
	w, err := opts.workload(ctx, a, args[0], a.In)
	if err != nil {
		return err
	}
	s := describeTrace(args[0], w, opts.GPUs)
	return a.Print(s, s.table())
}

func describeTrace(path string, w trace.Workload, gpus int) traceStats {
	d, r := trace.Describe(w.Jobs), w.Report
	s := traceStats{
		Trace: path, Format: r.Format, Rows: r.Rows, CPUOnly: r.CPUOnly(), NeverScheduled: r.NeverScheduled(), Left: r.Left,
		BadRows: r.Bad, Days: d.Days(), GPUs: gpus, Stats: d,
	}
	if gpus > 0 && d.Span > 0 {
		s.Load = d.Load(gpus)
	}
	for i, n := range d.Statuses {
		if n > 0 {
			s.Statuses = append(s.Statuses, statusCount{trace.Status(i).String(), n})
		}
	}
	return s
}

// table formats the statistics for people.
func (s *traceStats) table() [][]string {
	parts := []string{phrase.Count(s.Jobs, "job")}
	for _, c := range s.Left {
		parts = append(parts, fmt.Sprintf("%d %s", c.Rows, c.What))
	}
	if s.BadRows > 0 {
		parts = append(parts, fmt.Sprintf("%d cannot be read", s.BadRows))
	}
	rows := [][]string{
		{"trace", fmt.Sprintf("%s (%s)", s.Trace, s.Format)},
		{"rows", fmt.Sprintf("%d: %s", s.Rows, strings.Join(parts, ", "))},
		{"span", fmt.Sprintf("%.1f days", s.Days)},
		{"demand", fmt.Sprintf("%.0f GPU-hours", s.GPUHours)},
	}
	if s.GPUs > 0 {
		rows = append(rows, []string{"load", fmt.Sprintf("%.2f on %d GPUs", s.Load, s.GPUs)})
	}
	rows = append(rows, []string{"users", fmt.Sprintf("%d of %d tenants", s.Users, s.Tenants)})
	parts = parts[:0]
	for _, q := range s.Durations {
		parts = append(parts, fmt.Sprintf("p%.0f %s", 100*q.P, phrase.Seconds(q.Seconds)))
	}
	rows = append(rows, []string{"durations", fmt.Sprintf("mean %s, %s, max %s", phrase.Seconds(s.Mean),
		strings.Join(parts, ", "), phrase.Seconds(s.Max))})
	parts = parts[:0]
	for _, c := range s.Statuses {
		parts = append(parts, fmt.Sprintf("%s %d", c.Status, c.Jobs))
	}
	rows = append(rows, []string{"ends", strings.Join(parts, ", ")})
	if len(s.PerDay) > 0 {
		rows = append(rows, []string{"arrivals", fmt.Sprintf("%.1f a day, at most %d, gaps vary by %.2f of their mean",
			float64(s.Jobs)/float64(len(s.PerDay)), slices.Max(s.PerDay), s.ArrivalCV)})
	}
	if s.Fractional > 0 {
		rows = append(rows, []string{"fractional", fmt.Sprintf("%d jobs hold less than a GPU a worker", s.Fractional)})
	}
	for _, g := range s.Gangs {
		rows = append(rows, []string{fmt.Sprintf("gangs of %d", g.Workers), fmt.Sprintf("%d jobs (%.1f %%), %.1f %% of the demand",
			g.Jobs, 100*float64(g.Jobs)/float64(s.Jobs), 100*g.GPUHours/s.GPUHours)})
	}
	return rows
}
