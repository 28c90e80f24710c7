package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/serve"
)

// app contains what all commands share.
type app struct {
	cmdline.App

	learners []Learner            // that the main function adds
	own      []baselines.Baseline // that the main function adds
	program  string               // name of the program; "" for clustergym
}

// table returns the baselines of the program.
func (a *app) table() baselines.Table { return all.Table().With(a.own...) }

// open opens a file to read, or standard input for the path -. The error about a file that cannot be opened begins with what the
// caller does, such as "read snapshot". The caller must call done.
func (a *app) open(path, does string) (in io.Reader, done func(), err error) {
	if path == "-" {
		return a.In, func() {}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", does, err)
	}
	return f, func() { _ = f.Close() }, nil // it was only read
}

// bar returns a progress bar for a number of units, 0 if it is not known.
func (a *app) bar(label, unit string, total int64) *progress.Bar {
	return progress.New(a.Talk, progress.Options{Quiet: a.Quiet, Total: total, Label: label, Unit: unit})
}

// logger returns a logger that writes text to a terminal and otherwise JSON. With --quiet it logs only warnings and errors.
func (a *app) logger() *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if a.Quiet {
		opts.Level = slog.LevelWarn
	}
	return slog.New(serve.LogHandler(a.Talk, opts))
}
