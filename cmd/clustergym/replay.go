package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

type replayOptions struct {
	log    string
	verify bool
	gantt  string
}

func newReplayCmd(a *app) *cobra.Command {
	var opts replayOptions
	cmd := &cobra.Command{
		Use:   "replay LOG",
		Short: "Run an event log again and measure it",
		Long: long(`
Runs the operations of an event log (simulate --log-out) through the simulator again and prints its metrics. A log that the
cluster and its rules do not allow is refused, with the line. --verify also insists that the log of the second run, when
written, equals the file byte for byte.`),
		Example: `  clustergym replay log.jsonl.gz --verify
  clustergym replay log.jsonl --gantt schedule.svg --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			opts.log = args[0]
			return runReplay(a, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.verify, "verify", false, "fail unless the second run writes the same bytes")
	cmd.Flags().StringVar(&opts.gantt, "gantt", "", "draw the schedule as SVG")
	return cmd
}

// replayed is the result of replay.
type replayed struct {
	Policy   string `json:"policy"`
	Verified bool   `json:"verified"` // byte for byte
	eval.Metrics
}

func runReplay(a *app, opts replayOptions) error {
	text, err := readMaybeGzip(a, opts.log)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	old, err := sim.ReadLog(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", opts.log, err)
	}
	log, err := sim.Replay(old)
	if err != nil {
		return fmt.Errorf("%s: %w", opts.log, err)
	}
	if opts.verify {
		var again bytes.Buffer
		if err := log.Write(&again); err != nil {
			return err
		}
		if err := sameLines(text, again.Bytes()); err != nil {
			return fmt.Errorf("%s: %w", opts.log, err)
		}
	}
	if opts.gantt != "" {
		if err := a.write(opts.gantt, func(w io.Writer) error { return eval.WriteGantt(w, log) }); err != nil {
			return err
		}
	}
	result := replayed{Policy: log.Scheduler, Verified: opts.verify, Metrics: eval.Measure(log)}
	if a.json {
		return a.printJSON(result)
	}
	verdict := "every operation is allowed"
	if opts.verify {
		verdict = "the same bytes"
	}
	rows := append([][]string{{"policy", result.Policy}}, metricRows(&result.Metrics)...)
	return a.printRows(append(rows, []string{"replay", verdict}))
}

// readMaybeGzip reads a file, "-" for standard input, and unpacks it if it is gzip.
func readMaybeGzip(a *app, path string) ([]byte, error) {
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	buf := bufio.NewReader(in)
	if magic, _ := buf.Peek(2); string(magic) != "\x1f\x8b" {
		return io.ReadAll(buf)
	}
	z, err := gzip.NewReader(buf)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// sameLines reports the first line in which two texts differ.
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
