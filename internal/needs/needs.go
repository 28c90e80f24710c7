// Package needs says what a test lacks that neither Go nor the repository brings.
package needs

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Commands that bring what tests may lack. `make test` prints them in its last lines.
const (
	Chromium   = "apt-get install chromium fonts-dejavu-core"
	Kubernetes = "make kubeassets"
	ONNX       = "make onnxruntime"
	Python     = "apt-get install python3 python3-venv"
	Traces     = "make data"
)

// Missing skips the test, or fails it if CI=true. It says what the test lacks, for example "ONNX Runtime", and the command that
// brings it. `make test` finds these messages by their form.
func Missing(tb testing.TB, what, command string) {
	tb.Helper()
	says := fmt.Sprintf("needs %s: %s", what, command)
	if os.Getenv("CI") == "true" {
		tb.Fatal(says)
	}
	tb.Skip(says)
}

// Program returns the path of the first of the named programs that is in PATH. If there is none, it does what Missing does.
func Program(tb testing.TB, command string, names ...string) string {
	tb.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(tb, strings.Join(names, " or "), command)
	return ""
}
