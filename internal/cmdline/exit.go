package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/internal/config"
)

// The exit codes: scripts rely on them.
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

// exitText says what a code means, in help texts.
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

// Long is a help text with the command's exit codes: those that every command has, and more.
func Long(text string, more ...int) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(text) + "\n\nExit status:\n")
	for _, code := range append(append([]int{CodeOK, CodeError, CodeUsage}, more...), CodeInterrupted) {
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

// Fail gives an error the exit code that the program ends with.
func Fail(code int, err error) error { return &exitError{code, err} }

// Usage is an error of the command line.
func Usage(format string, args ...any) error { return Fail(CodeUsage, fmt.Errorf(format, args...)) }

// NoRun marks an error as one of something that is not there.
func NoRun(err error) error { return Fail(CodeNoRun, err) }

// DidYouMean is the end of an error about a name: the one that was meant, if it can be guessed, else those that there are.
func DidYouMean(name string, known []string) string {
	if near, ok := config.Nearest(name, known); ok {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ": want one of " + strings.Join(known, ", ")
}

// OneOf checks the value of a flag that takes a few words.
func OneOf(flag, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return Usage("--%s %q%s", flag, value, DidYouMean(value, known))
}
