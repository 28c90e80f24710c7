// Package maintest lets the test of a command run its main as a process, as a user does.
package maintest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asked is the variable by which the binary of a test knows that it is to be the command.
const asked = "CLUSTERGYM_EXAMPLE_MAIN"

// Main runs main if Run has started the process, else the tests: call it from TestMain.
func Main(m *testing.M, main func()) {
	if os.Getenv(asked) != "" {
		main()
		return
	}
	m.Run()
}

// Run runs a command line, which has to succeed, and returns what it prints.
func Run(t *testing.T, args ...string) string {
	t.Helper()
	out, talk, err := start(t, args)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, talk)
	}
	return out
}

// Fail runs a command line, which has to fail, and returns what it complains of.
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

// Holds reports each part that a text lacks.
func Holds(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}
