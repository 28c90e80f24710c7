package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/unpack"
)

type replayOptions struct {
	logs    []string
	verify  bool
	drawing drawOptions
}

func newReplayCmd(a *app) *cobra.Command {
	var opts replayOptions
	cmd := &cobra.Command{
		Use:   "replay LOG [LOG2]",
		Short: "Replay an event log, measure it and draw it",
		Long: cmdline.Long(`
Runs the operations of an event log (simulate --log-out) through the simulator again and prints its metrics. A log with an
operation that the cluster or its rules do not allow is an error that names the line. --verify also requires that the log of
the replay equals the file byte for byte.

Two logs are measured side by side, and --show and --gantt draw them one above the other on one time axis; --json then prints
a list of two. --show draws as wide as the terminal, in colour unless NO_COLOR is set; it cannot be combined with --json. A
log may be compressed. Unpacked it may have at most 2 GiB, and if it has more than 16 MiB, at most 100 times its compressed
size.`),
		Example: `  clustergym replay log.jsonl.gz --verify
  clustergym replay log.jsonl --gantt schedule.svg --json
  clustergym replay fifo.jsonl srtf.jsonl --show`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			opts.logs = args
			return runReplay(a, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.verify, "verify", false, "fail unless the replay writes the same bytes")
	flags.Bind(cmd, &opts.drawing, words)
	return cmd
}

// replayed is the result of replay.
type replayed struct {
	Policy   string `json:"policy"`
	Verified bool   `json:"verified"` // the replay equals the log byte for byte
	eval.Metrics
}

func runReplay(a *app, opts replayOptions) error {
	if err := opts.drawing.validate(a); err != nil {
		return err
	}
	if len(opts.logs) > 1 && opts.logs[0] == "-" && opts.logs[1] == "-" {
		return cmdline.Usage("standard input holds one log: want a file for the other")
	}
	var logs []*sim.Log
	var results []replayed
	for _, path := range opts.logs {
		log, err := replay(a, path, opts.verify)
		if err != nil {
			return err
		}
		logs = append(logs, log)
		results = append(results, replayed{Policy: log.Scheduler, Verified: opts.verify, Metrics: eval.Measure(log)})
	}
	if err := opts.drawing.draw(a, logs...); err != nil {
		return err
	}
	if a.JSON {
		if len(results) == 1 {
			return a.PrintJSON(results[0])
		}
		return a.PrintJSON(results)
	}
	verdict := "every operation is allowed"
	if opts.verify {
		verdict = "the same bytes"
	}
	var columns [][][]string
	for i := range results {
		rows := append([][]string{{"policy", results[i].Policy}}, metricRows(&results[i].Metrics)...)
		columns = append(columns, append(rows, []string{"replay", verdict}))
	}
	return a.PrintRows(sideBySide(columns))
}

// replay reads a log, from standard input if the path is "-", and replays it.
func replay(a *app, path string, verify bool) (*sim.Log, error) {
	var log *sim.Log
	err := withLog(a, path, func(in io.Reader) (err error) {
		log, err = replayFrom(in, verify)
		return err
	})
	return log, err
}

// readLog reads a log, from standard input if the path is "-".
func readLog(a *app, path string) (*sim.Log, error) {
	var log *sim.Log
	err := withLog(a, path, func(in io.Reader) (err error) {
		log, err = sim.ReadLog(in)
		return err
	})
	return log, err
}

// withLog calls read with the text of a log, from standard input if the path is "-".
func withLog(a *app, path string, read func(io.Reader) error) error {
	file, done, err := a.open(path, "read log")
	if err != nil {
		return err
	}
	defer done()
	in, err := unpack.NewReader(file, maxLogText, errLogText)
	if err != nil {
		return fmt.Errorf("%s: read log: %w", path, err)
	}
	if err := read(in); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func replayFrom(in io.Reader, verify bool) (*sim.Log, error) {
	var text bytes.Buffer
	if verify {
		in = io.TeeReader(in, &text)
	}
	old, err := sim.ReadLog(in)
	if err != nil {
		return nil, err
	}
	log, err := sim.Replay(old)
	if err != nil || !verify {
		return log, err
	}
	var again bytes.Buffer
	if err := log.Write(&again); err != nil {
		return nil, err
	}
	return log, sameLines(text.Bytes(), again.Bytes())
}

// sideBySide joins tables whose rows begin with a label. A row of the result contains the cells that each table has for its
// label.
func sideBySide(tables [][][]string) [][]string {
	rows := tables[0]
	for i, table := range tables[1:] {
		for _, row := range table {
			at := slices.IndexFunc(rows, func(r []string) bool { return r[0] == row[0] })
			if at < 0 {
				at = len(rows) - 1 // before the verdict
				rows = slices.Insert(rows, at, append([]string{row[0]}, make([]string, i+1)...))
			}
			rows[at] = append(rows[at], row[1:]...)
		}
	}
	return rows
}

// maxLogText is the longest log in bytes that is read, after decompression.
const maxLogText = 2 << 30

var errLogText = errors.New("log exceeds a limit")

// sameLines returns an error that quotes the first line in which two texts differ, or nil if they are equal.
func sameLines(want, got []byte) error {
	if bytes.Equal(want, got) {
		return nil
	}
	a, b := bytes.SplitAfter(want, []byte("\n")), bytes.SplitAfter(got, []byte("\n"))
	for i := range min(len(a), len(b)) {
		if !bytes.Equal(a[i], b[i]) {
			return fmt.Errorf("line %d is not what the second run writes: %.200q, want %.200q", i+1, a[i], b[i])
		}
	}
	return fmt.Errorf("%d lines, and the second run writes %d", len(a), len(b))
}
