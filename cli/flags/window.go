package flags

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/trace"
)

// Window contains the flags that select a part of a trace. The zero Window selects the whole trace.
type Window struct {
	from, to    time.Duration
	start       int
	count       int
	maxDuration time.Duration
	maxGPUs     int
}

// Add adds the flags to a command.
func (o *Window) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&o.from, "from", 0, "use only arrivals at or after this time of the trace")
	f.DurationVar(&o.to, "to", 0, "use only arrivals before this time of the trace, 0 for all")
	f.IntVar(&o.start, "start", 0, "leave out this many of those arrivals, from the first on")
	f.IntVar(&o.count, "count", 0, "use at most this many arrivals, 0 for all; times then count from the first of them")
	f.DurationVar(&o.maxDuration, "max-duration", 0, "cut longer jobs to this duration, 0 for no cut")
	f.IntVar(&o.maxGPUs, "max-gpus", 0, "cut larger gangs to this many GPUs, 0 for no cut")
}

// Cut returns the selected part of the workload, or the workload itself if no flag is set. It reports through say what it cut.
func (o *Window) Cut(w trace.Workload, say func(format string, args ...any)) (trace.Workload, error) {
	if *o == (Window{}) {
		return w, nil
	}
	w, err := trace.Window(w, trace.WindowSpec{
		From: o.from, To: o.to, Start: o.start, Count: o.count, MaxDuration: o.maxDuration, MaxGPUs: int32(o.maxGPUs),
	})
	if err != nil {
		return trace.Workload{}, err
	}
	if r := w.Report; r.ClampedWork+r.ClampedWorkers > 0 {
		say("%s: %d durations and %d gangs cut", w.Name, r.ClampedWork, r.ClampedWorkers)
	}
	return w, nil
}
