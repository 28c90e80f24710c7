package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/config"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train"
)

// The exit codes: scripts rely on them.
const (
	codeOK          = 0
	codeError       = 1
	codeUsage       = 2
	codeSomeFailed  = 3
	codeGate        = 4
	codeNoRun       = 10
	codeMismatch    = 11
	codeInterrupted = 130
)

// exitText says what a code means, in help texts.
func exitText(code int) string {
	return map[int]string{
		codeOK:          "done",
		codeError:       "an error: bad input, or a file that cannot be read or written",
		codeUsage:       "a command line that is not understood",
		codeSomeFailed:  "some of several cases failed",
		codeGate:        "a bound was not met",
		codeNoRun:       "no such run, checkpoint or policy",
		codeMismatch:    "a checkpoint or policy that does not fit what it is asked for",
		codeInterrupted: "interrupted; what was finished is kept",
	}[code]
}

// long is a help text with the command's exit codes: those that every command has, and more.
func long(text string, more ...int) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(text) + "\n\nExit status:\n")
	for _, code := range append(append([]int{codeOK, codeError, codeUsage}, more...), codeInterrupted) {
		fmt.Fprintf(&b, "  %-4d %s\n", code, exitText(code))
	}
	return strings.TrimRight(b.String(), "\n")
}

// exitError is an error with a code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

// usage is an error of the command line.
func usage(format string, args ...any) error {
	return &exitError{codeUsage, fmt.Errorf(format, args...)}
}

// noRun marks an error as one of something that is not there.
func noRun(err error) error { return &exitError{codeNoRun, err} }

func exitCode(ctx context.Context, err error) int {
	var own *exitError
	var name *policy.NameError
	switch {
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &name) && name.Folder:
		return codeNoRun
	case errors.As(err, &name):
		return codeUsage
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		return codeInterrupted
	case errors.Is(err, checkpoints.ErrNone):
		return codeNoRun
	case errors.Is(err, train.ErrMismatch), errors.Is(err, checkpoints.ErrForeign), errors.Is(err, checkpoints.ErrNewer),
		errors.Is(err, checkpoints.ErrUnsigned):
		return codeMismatch
	}
	return codeError
}

// didYouMean is the end of an error about a name: the one that was meant, if it can be guessed, else those that there are.
func didYouMean(name string, known []string) string {
	if near, ok := config.Nearest(name, known); ok {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ": want one of " + strings.Join(known, ", ")
}

// oneOf checks the value of a flag that takes a few words.
func oneOf(flag, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return usage("--%s %q%s", flag, value, didYouMean(value, known))
}
