package flags

import (
	"time"

	"github.com/clustergym/clustergym/env/trace"
)

// Window contains the flags that select a part of a trace. The zero Window selects the whole trace.
type Window struct {
	From  time.Duration `flag:"from" help:"use only arrivals at or after this time of the trace"`
	To    time.Duration `flag:"to" help:"use only arrivals before this time of the trace, 0 for all"`
	Count int           `flag:"count" help:"use at most this many arrivals, 0 for all; times then count from the first of them"`
}

// Cut returns the selected part of the workload, or the workload itself if no flag is set.
func (o *Window) Cut(w trace.Workload) (trace.Workload, error) {
	if *o == (Window{}) {
		return w, nil
	}
	return trace.Window(w, trace.WindowSpec{From: o.From, To: o.To, Count: o.Count})
}
