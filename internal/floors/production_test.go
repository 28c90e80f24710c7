package floors_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// What runs in production links no Gorgonia, not even through others. The module of clustergym-kube has a test of its own.
func TestProductionLinksNoGorgonia(t *testing.T) {
	readTree(t)
	for _, family := range []string{"internal/serve", "internal/decide", "baselines", "agents", "checkpoints", "env"} {
		for _, path := range deps(t, "./"+family) {
			if strings.HasPrefix(path, "gorgonia.org/") {
				t.Errorf("%s links %s", family, path)
			}
		}
	}
	training := strings.Join(deps(t, "./train"), "\n")
	if !strings.Contains(training, "gorgonia.org/") { // else this test sees nothing
		t.Errorf("train links no Gorgonia, with which it trains, but\n%s", training)
	}
}

// deps lists all packages that those of a pattern link, themselves included.
func deps(t *testing.T, pattern string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", pattern)
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list what %s links: %v\n%s", pattern, err, stderr.Bytes())
	}
	paths := strings.Fields(string(out))
	if len(paths) < 10 {
		t.Fatalf("%s links only %q", pattern, paths)
	}
	return paths
}
