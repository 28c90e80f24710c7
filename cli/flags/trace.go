// Package flags makes the fields of structs the flags of commands. It has structs that several commands share: for a trace, a
// window of it, and a scenario.
package flags

import (
	"context"
	"errors"
	"io"

	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// Trace contains the flags for reading a trace.
type Trace struct {
	Format      string   `flag:"format" complete:"format" help:"format of the trace, if its header fits several: see clustergym trace --help"`
	Columns     []string `flag:"columns" help:"what a file of your own calls the native columns, such as num_gpu=gpus,submit_time=created,duration=ended-started"`
	SkipBadRows bool     `flag:"skip-bad-rows" help:"count and report rows that cannot be read instead of failing"`
}

// Formats returns the names of the trace formats.
func Formats() []string {
	var names []string
	for _, f := range trace.Formats() {
		names = append(names, string(f))
	}
	return names
}

// Read reads a trace from the path, or from in if the path is "-". It reports through say the rows that it left out. It returns
// the error of ctx soon after ctx has ended.
func (o *Trace) Read(
	ctx context.Context, path string, in io.Reader, say func(format string, args ...any),
) (trace.Workload, error) {
	if o.Format != "" {
		if err := cmdline.OneOf("format", o.Format, Formats()...); err != nil {
			return trace.Workload{}, err
		}
	}
	opt := trace.Options{Format: trace.Format(o.Format), SkipBadRows: o.SkipBadRows, Columns: o.Columns, Stop: ctx.Done()}
	w, err := read(path, in, opt)
	if errors.Is(err, trace.ErrStopped) {
		return trace.Workload{}, ctx.Err()
	}
	if err != nil {
		return trace.Workload{}, err
	}
	for _, line := range w.Report.Lines() {
		say("%s: %s", w.Name, line)
	}
	return w, nil
}

func read(path string, in io.Reader, opt trace.Options) (trace.Workload, error) {
	if path != "-" {
		return trace.Read(path, opt)
	}
	r, err := trace.NewReader(in, "stdin", opt)
	if err != nil {
		return trace.Workload{}, err
	}
	w, err := r.Workload()
	return w, errors.Join(err, r.Close())
}

// EstimateKinds returns the kinds of run time estimates.
func EstimateKinds() []string {
	return []string{string(trace.Oracle), string(trace.Noisy), string(trace.Profiled), string(trace.None)}
}
