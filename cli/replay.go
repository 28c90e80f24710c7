package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/unpack"
)

type replayOptions struct {
	Policy  string `flag:"policy" complete:"policy" help:"the policy that decides a decision log again (default the one that the log names)"`
	Verify  bool   `flag:"verify" help:"fail unless the replay writes the same bytes"`
	Drawing drawOptions

	logs []string
}

func newReplayCmd(a *app) *cobra.Command {
	return newCommand(a, &replayOptions{}, &cobra.Command{
		Use:   "replay LOG [LOG2]",
		Short: "Replay an event log or a decision log",
		Long: cmdline.Long(`
Runs the operations of an event log (simulate --log-out) through the simulator again and prints its metrics. A log with an
operation that the cluster or its rules do not allow is an error that names the line. --verify also requires that the log of
the replay equals the file byte for byte.

The log may also be a decision log (serve --decision-log, clustergym-kube --decision-log). Every decision of it is computed
again, from the snapshot in it and without a deadline, and the command prints where an answer differs: operations, placements,
reasons, jobs that wait. Decisions of the fallback are computed by the fallback. --policy replaces the policy of a decision
log. It names that policy's own folder, if the log contains only a name, or another policy, to see where that would have
decided otherwise. Without it the policy is found by its name.

Two logs are measured side by side, and --show and --gantt draw them one above the other on one time axis; --json then prints
a list of two. --show draws as wide as the terminal, in colour unless NO_COLOR is set; it cannot be combined with --json. An
event log may be compressed. Unpacked it may have at most 2 GiB, and if it has more than 16 MiB, at most 100 times its
compressed size.`, cmdline.CodeSomeFailed, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym replay log.jsonl.gz --verify
  clustergym replay log.jsonl --gantt schedule.svg --json
  clustergym replay fifo.jsonl srtf.jsonl --show
  clustergym replay decisions.jsonl --policy runs/first/policy`,
		Args: cobra.RangeArgs(1, 2),
	}, runReplay)
}

// replayed is the result of replay.
type replayed struct {
	Policy   string `json:"policy"`
	Verified bool   `json:"verified"` // the replay equals the log byte for byte
	eval.Metrics
}

func runReplay(ctx context.Context, a *app, opts *replayOptions, paths []string) error {
	if err := opts.Drawing.validate(a); err != nil {
		return err
	}
	if opts.logs = paths; slices.Equal(paths, []string{"-", "-"}) {
		return cmdline.Usage("standard input holds one log: want a file for the other")
	}
	var logs []*sim.Log
	var results []replayed
	for _, path := range paths {
		in, done, err := a.open(path, "read log")
		if err != nil {
			return err
		}
		defer done()
		text := bufio.NewReader(in)
		if head, _ := text.Peek(len(decisionHead)); string(head) == decisionHead {
			return opts.replayDecisions(ctx, a, path, text)
		}
		if opts.Policy != "" {
			return cmdline.Usage("--policy %s: %s is no decision log", opts.Policy, path)
		}
		var log *sim.Log
		again := func(in io.Reader) (err error) { log, err = replayFrom(in, opts.Verify); return err }
		if err := unpacked(path, text, again); err != nil {
			return err
		}
		logs = append(logs, log)
		results = append(results, replayed{Policy: log.Scheduler, Verified: opts.Verify, Metrics: eval.Measure(log)})
	}
	if err := opts.Drawing.draw(a, logs...); err != nil {
		return err
	}
	if a.JSON {
		if len(results) == 1 {
			return a.PrintJSON(results[0])
		}
		return a.PrintJSON(results)
	}
	verdict := "every operation is allowed"
	if opts.Verify {
		verdict = "the same bytes"
	}
	var columns [][][]string
	for i := range results {
		rows := append([][]string{{"policy", results[i].Policy}}, metricRows(&results[i].Metrics)...)
		columns = append(columns, append(rows, []string{"replay", verdict}))
	}
	return a.PrintRows(sideBySide(columns))
}

// readLog reads an event log, from standard input if the path is "-".
func readLog(a *app, path string) (log *sim.Log, err error) {
	in, done, err := a.open(path, "read log")
	if err != nil {
		return nil, err
	}
	defer done()
	err = unpacked(path, in, func(in io.Reader) (err error) { log, err = sim.ReadLog(in); return err })
	return log, err
}

// unpacked calls read with the text of an event log, which may be compressed.
func unpacked(path string, file io.Reader, read func(io.Reader) error) error {
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

// decisionHead is how each line of a decision log begins: with the first field of decide.Record.
const decisionHead = `{"version":`

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
