package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/internal/config"
)

// The exit codes. Scripts rely on them, so they must not change.
const (
	CodeOK          = 0
	CodeError       = 1
	CodeUsage       = 2
	CodeSomeFailed  = 3
	CodeGate        = 4
	CodeNoRun       = 10
	CodeMismatch    = 11
	CodeInterrupted = 130
)

// exitText returns the meaning of an exit code for help texts.
func exitText(code int) string {
	return map[int]string{
		CodeOK:          "done",
		CodeError:       "an error: bad input, or a file that cannot be read or written",
		CodeUsage:       "a command line that is not understood",
		CodeSomeFailed:  "some of several cases failed",
		CodeGate:        "a bound was not met",
		CodeNoRun:       "no such run, checkpoint or policy",
		CodeMismatch:    "a checkpoint or policy that does not fit what it is asked for",
		CodeInterrupted: "interrupted; what was finished is kept",
	}[code]
}

// Long returns a help text followed by the command's exit codes: those that every command has, and those in more.
func Long(text string, more ...int) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(text) + "\n\nExit status:\n")
	for _, code := range append(append([]int{CodeOK, CodeError, CodeUsage}, more...), CodeInterrupted) {
		fmt.Fprintf(&b, "  %-4d %s\n", code, exitText(code))
	}
	return strings.TrimRight(b.String(), "\n")
}

// exitError is an error with an exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

// Fail wraps err so that the program exits with the code.
func Fail(code int, err error) error { return &exitError{code, err} }

// Usage returns an error in the command line, with the exit code for it.
func Usage(format string, args ...any) error { return Fail(CodeUsage, fmt.Errorf(format, args...)) }

// NoRun wraps an error about a run, checkpoint or policy that does not exist.
func NoRun(err error) error { return Fail(CodeNoRun, err) }

// DidYouMean returns the end of an error message about an unknown name: the known name that is spelled most like it, or the list
// of all known names.
func DidYouMean(name string, known []string) string {
	if near, ok := config.Nearest(name, known); ok {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ": want one of " + strings.Join(known, ", ")
}

// OneOf returns a usage error if the value of a flag is not one of the known words.
func OneOf(flag, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return Usage("--%s %q%s", flag, value, DidYouMean(value, known))
}
