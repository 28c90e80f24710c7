package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// readOptions say how to read a trace.
type readOptions struct {
	format      string
	skipBadRows bool
}

func (o *readOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "format of the trace, where its header does not tell: see trace --help")
	f.BoolVar(&o.skipBadRows, "skip-bad-rows", false, "count and report rows that cannot be read instead of failing")
	cmdline.Complete(cmd, "format", formatNames)
}

func formatNames() []string {
	var names []string
	for _, f := range trace.Formats() {
		names = append(names, string(f))
	}
	return names
}

// read reads a trace, "-" for standard input, and tells what became of rows that are no jobs.
func (o *readOptions) read(a *app, path string) (trace.Workload, error) {
	if o.format != "" {
		if err := cmdline.OneOf("format", o.format, formatNames()...); err != nil {
			return trace.Workload{}, err
		}
	}
	opt := trace.Options{Format: trace.Format(o.format), SkipBadRows: o.skipBadRows}
	w, err := readWorkload(a, path, opt)
	if err != nil {
		return trace.Workload{}, err
	}
	r := w.Report
	if r.CPUOnly > 0 {
		a.Say("%s: %d of %d rows ask for no GPU and are set aside", w.Name, r.CPUOnly, r.Rows)
	}
	if r.NeverScheduled > 0 {
		a.Say("%s: %d of %d rows were never scheduled and are set aside", w.Name, r.NeverScheduled, r.Rows)
	}
	if r.Bad > 0 {
		a.Say("%s: %d of %d rows cannot be read and are skipped, such as", w.Name, r.Bad, r.Rows)
		for _, example := range r.BadExamples {
			a.Say("  %s", example)
		}
	}
	return w, nil
}

func readWorkload(a *app, path string, opt trace.Options) (trace.Workload, error) {
	if path != "-" {
		return trace.Read(path, opt)
	}
	r, err := trace.NewReader(a.In, "stdin", opt)
	if err != nil {
		return trace.Workload{}, err
	}
	w, err := r.Workload()
	return w, errors.Join(err, r.Close())
}

// windowOptions cut a part out of a trace.
type windowOptions struct {
	from, to    time.Duration
	start       int
	count       int
	maxDuration time.Duration
	maxGPUs     int
}

func (o *windowOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&o.from, "from", 0, "use only arrivals at or after this time of the trace")
	f.DurationVar(&o.to, "to", 0, "use only arrivals before this time of the trace, 0 for all")
	f.IntVar(&o.start, "start", 0, "of those, leave out so many of the first")
	f.IntVar(&o.count, "count", 0, "use so many arrivals, 0 for all; times then count from the first of them")
	f.DurationVar(&o.maxDuration, "max-duration", 0, "cut longer jobs to this duration, 0 for none")
	f.IntVar(&o.maxGPUs, "max-gpus", 0, "cut larger gangs to so many GPUs, 0 for none")
}

// cut returns the part, and the workload as it is if no option asks for one.
func (o *windowOptions) cut(a *app, w trace.Workload) (trace.Workload, error) {
	if *o == (windowOptions{}) {
		return w, nil
	}
	w, err := trace.Window(w, trace.WindowSpec{
		From: o.from, To: o.to, Start: o.start, Count: o.count, MaxDuration: o.maxDuration, MaxGPUs: int32(o.maxGPUs),
	})
	if err != nil {
		return trace.Workload{}, err
	}
	if r := w.Report; r.ClampedWork+r.ClampedWorkers > 0 {
		a.Say("%s: %d durations and %d gangs cut", w.Name, r.ClampedWork, r.ClampedWorkers)
	}
	return w, nil
}

// fitCluster deals with the jobs that the cluster could never hold and returns those that remain.
func fitCluster(a *app, w trace.Workload, spec cluster.Spec, mode trace.OversizeMode) ([]trace.Job, int, error) {
	room := spec.Rooms()
	fits := func(j *cluster.JobSpec) bool { return int64(j.Workers) <= room(j) }
	jobs, n, err := trace.Oversize(w.Jobs, fits, mode, int32(spec.GPUs()))
	if err != nil {
		return nil, 0, fmt.Errorf("%w: enlarge the cluster, or set --oversize to drop or clamp", err)
	}
	if len(jobs) == 0 {
		return nil, 0, fmt.Errorf("%s: no job fits the cluster: enlarge it", w.Name)
	}
	if n > 0 {
		done := map[trace.OversizeMode]string{trace.OversizeDrop: "left out", trace.OversizeClamp: "cut to its size"}[mode]
		a.Say("%s: %d jobs too large for the cluster are %s", w.Name, n, done)
	}
	return jobs, n, nil
}
