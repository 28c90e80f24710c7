// Package maintest lets the test of a command run the command's main function as a process, as a user would.
package maintest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asked is the environment variable that tells the test binary to run as the command.
const asked = "CLUSTERGYM_EXAMPLE_MAIN"

// Main runs main if Run or Fail has started the process, otherwise the tests. Call it from TestMain.
func Main(m *testing.M, main func()) {
	if os.Getenv(asked) != "" {
		main()
		return
	}
	m.Run()
}

// Run runs a command line and returns its standard output. If the command fails, the test fails.
func Run(t *testing.T, args ...string) string {
	t.Helper()
	out, talk, err := start(t, args)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, talk)
	}
	return out
}

// Fail runs a command line that must fail, and returns its standard error. If the command succeeds, the test fails.
func Fail(t *testing.T, args ...string) string {
	t.Helper()
	out, talk, err := start(t, args)
	if err == nil {
		t.Fatalf("%s: done, want it to fail\n%s", strings.Join(args, " "), out)
	}
	return talk
}

func start(t *testing.T, args []string) (out, talk string, err error) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asked+"=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// Holds reports an error for each part that the text does not contain.
func Holds(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}
