package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newTraceCmd(a *app) *cobra.Command {
	return cmdline.NewGroup("trace", "Describe, convert and generate traces, and fit the generator",
		fmt.Sprintf(`Traces are tables of jobs, plain or gzip. How a file begins determines the format: %s.
If two formats share a header, --format selects one. docs/traces.md describes them.`, strings.Join(flags.Formats(), ", ")),
		newTraceLsCmd(a), newTraceStatsCmd(a), newTraceImportCmd(a), newTraceFitCmd(a), newTraceGenCmd(a),
		newTraceRecordCmd(a), newTraceFetchCmd(a))
}

// traceInput are the flags for reading a part of a trace.
type traceInput struct {
	flags.Trace
	flags.Window
}

func (o *traceInput) workload(ctx context.Context, a *app, path string) (trace.Workload, error) {
	w, err := o.Read(ctx, path, a.In, a.Say)
	if err != nil {
		return w, err
	}
	return o.Cut(w)
}

func newTraceLsCmd(a *app) *cobra.Command {
	return newCommand(a, &none{}, &cobra.Command{
		Use:   "ls [DIR]",
		Short: "List the traces in a folder",
		Long: cmdline.Long(`
Lists the files in and below DIR that can be read as traces, with the formats that their headers allow. DIR defaults to the
folder traces in $` + scenario.SharedVariable + ` if that is set, else to the working folder.`),
		Example: "  clustergym trace ls traces",
		Args:    cobra.MaximumNArgs(1),
	}, runTraceLs)
}

// traceFile is one file of trace ls.
type traceFile struct {
	Path    string         `json:"path"`
	Formats []trace.Format `json:"formats"`
	Bytes   int64          `json:"bytes"`
}

func runTraceLs(_ context.Context, a *app, _ *none, args []string) error {
	dir := "."
	if shared := os.Getenv(scenario.SharedVariable); shared != "" {
		dir = filepath.Join(shared, "traces")
	}
	if len(args) == 1 {
		dir = args[0]
	}
	files, rows := []traceFile{}, [][]string{{"trace", "format", "bytes"}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() || !strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".csv") {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if formats, names := readableAs(path); len(formats) > 0 {
			files = append(files, traceFile{path, formats, info.Size()})
			rows = append(rows, []string{path, strings.Join(names, " or "), strconv.FormatInt(info.Size(), 10)})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list traces: %w", err)
	}
	return a.Print(files, rows)
}

// readableAs returns the trace formats that the header of a file fits, and their names.
func readableAs(path string) (formats []trace.Format, names []string) {
	for _, f := range trace.Formats() {
		r, err := trace.Open(path, trace.Options{Format: f})
		if err == nil {
			formats, names = append(formats, f), append(names, string(f))
			_ = r.Close() // only the header was read
		}
	}
	return formats, names
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
		Use:   "import FILE",
		Short: "Convert a trace to the native CSV format",
		Long: cmdline.Long(`
Reads a trace of any format and writes it in the native one; if it fails, it writes no partial file. It says how many rows it
leaves out and why, and what it takes for granted. Of a table in no known format it only says which columns it recognises:
--columns, copied and checked, then reads it. Flags select a part of the trace.`),
		Example: `  clustergym trace import venus.csv.gz --format helios -o venus-native.csv
  clustergym trace import log.csv --columns job_id=id,num_gpu=gpus,submit_time=created,duration=ended-started -o jobs.csv
  clustergym trace import log.swf --columns num_gpu=processors -o jobs.csv
  clustergym trace import philly.csv.gz --count 20000 -o - | head`,
		Args: cobra.ExactArgs(1),
	}, runTraceImport)
}

func runTraceImport(ctx context.Context, a *app, opts *importOptions, args []string) error {
	w, err := opts.workload(ctx, a, args[0])
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
