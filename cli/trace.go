package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newTraceCmd(a *app) *cobra.Command {
	return cmdline.NewGroup("trace", "Describe, convert and generate traces",
		fmt.Sprintf(`Traces are tables of jobs, plain or gzip. How a file begins determines the format: %s.
If two formats share a header, --format selects one. docs/traces.md describes them.`, strings.Join(flags.Formats(), ", ")),
		newTraceStatsCmd(a), newTraceImportCmd(a), newTraceGenCmd(a),
		newTraceFetchCmd(a))
}

// traceInput are the flags for reading a part of a trace.
type traceInput struct {
	flags.Trace
	flags.Window
}

func (o *traceInput) workload(ctx context.Context, a *app, path string, in io.Reader) (trace.Workload, error) {
	w, err := o.Read(ctx, path, in, a.Say)
	if err != nil {
		return w, err
	}
	return o.Cut(w)
}

type importOptions struct {
	traceInput
	outOptions
}

// outOptions is the flag for a trace to write.
type outOptions struct {
	Out string `flag:"out,o" default:"-" help:"file to write, compressed if its name ends in .gz; - for standard output"`
}

func newTraceImportCmd(a *app) *cobra.Command {
	return newCommand(a, &importOptions{}, &cobra.Command{
		Use:   "import {FILE | LOG...}",
		Short: "Make a trace in the native CSV format, of another one or of decision logs",
		Long: cmdline.Long(`
Reads a trace of any format and writes it in the native one; if it fails, it writes no partial file. It says how many rows it
leaves out and why, and what it takes for granted. Of a table in no known format it only says which columns it recognises:
--columns, copied and checked, then reads it. Flags select a part of the trace.

It also makes a trace of the jobs that decision logs show. serve and clustergym-kube write such a log with --decision-log, also in
shadow mode, in which clustergym-kube changes nothing. So the trace has the jobs of your own cluster, whatever scheduler runs
them. Give the logs of one cluster in the order in which they were written. The trace has the jobs that ran and ended: what they
asked for, when they were submitted, and how long they ran. A job ends in the trace when a snapshot no longer shows it, which may
be as much too late as the snapshots are apart. After an hour without a snapshot the end of a job counts as unknown, and the job
is left out. Jobs that have not ended yet are left out, too, so record for much longer than jobs run. Times begin with the first
submission. Damaged lines are left out and counted.`),
		Example: `  clustergym trace import venus.csv.gz --format helios -o venus-native.csv
  clustergym trace import log.csv --columns job_id=id,num_gpu=gpus,submit_time=created,duration=ended-started -o jobs.csv
  clustergym trace import log.swf --columns num_gpu=processors -o jobs.csv
  clustergym trace import philly.csv.gz --count 20000 -o - | head
  clustergym trace import monday.jsonl tuesday.jsonl -o own.csv.gz`,
		Args: cobra.MinimumNArgs(1),
	}, runTraceImport)
}

func runTraceImport(ctx context.Context, a *app, opts *importOptions, args []string) error {
	in, done, err := a.open(args[0], "read trace")
	if err != nil {
		return err
	}
	defer done()
	text := bufio.NewReader(in)
	head, _ := text.Peek(len(decisionHead))
	switch log := string(head) == decisionHead; {
	case log && (opts.Trace.Format != "" || len(opts.Columns) > 0 || opts.Window != flags.Window{}):
		return cmdline.Usage("%s is a decision log: want no flags for other formats, and none that select a part", args[0])
	case log:
		return importLogs(ctx, a, opts.Out, args, text)
	case len(args) > 1:
		return cmdline.Usage("%s is no decision log: want it alone", args[0])
	}
	w, err := opts.workload(ctx, a, args[0], text)
	if err != nil {
		return err
	}
	return writeTrace(a, opts.Out, w)
}

// traceWritten is the result of import and gen with --json.
type traceWritten struct {
	Out            string `json:"out"`
	Jobs           int    `json:"jobs"`
	Rows           int    `json:"rows"`
	CPUOnly        int    `json:"cpu_only_rows"`
	NeverScheduled int    `json:"never_scheduled_rows"`
	BadRows        int    `json:"bad_rows"`

	Left  trace.Counts `json:"left_out,omitempty"` // all rows that are no jobs, by why
	Notes trace.Counts `json:"notes,omitempty"`    // what was taken for granted; rows 0 for the whole file
}

// writeTrace writes the native CSV file. Unless it wrote to standard output, it then prints what it wrote.
func writeTrace(a *app, out string, w trace.Workload) error {
	if err := a.Write(out, nativeWriter(w.Jobs)); err != nil {
		return err
	}
	if out == "-" {
		return nil
	}
	if !a.JSON {
		a.Say("%d jobs written to %s", len(w.Jobs), out)
		return nil
	}
	r := w.Report
	return a.PrintJSON(traceWritten{out, len(w.Jobs), r.Rows, r.CPUOnly(), r.NeverScheduled(), r.Bad, r.Left, r.Notes})
}
