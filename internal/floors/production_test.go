package floors_test

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What runs in production links no Gorgonia, not even through others. The module of clustergym-kube has a test of its own.
func TestProductionLinksNoGorgonia(t *testing.T) {
	readTree(t)
	for _, family := range []string{"serve", "serve/decide", "baselines", "agents", "checkpoints", "env"} {
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

// What decides in production knows the game and no simulated environment. Baselines link the simulator, for rollout looks ahead
// in it; what stands on them does not ask for it.
func TestProductionPlaysNoEnvironment(t *testing.T) {
	readTree(t)
	const simulated = "github.com/clustergym/clustergym/env"
	for _, family := range []string{"env/candidates", "env/observe", "env/game"} {
		if path := simulated + "/sim"; slices.Contains(deps(t, "./"+family), path) {
			t.Errorf("%s links %s", family, path)
		}
	}
	for _, family := range []string{"agents", "serve/decide", "serve"} {
		if slices.Contains(deps(t, "./"+family), simulated) {
			t.Errorf("%s links %s", family, simulated)
		}
		for _, path := range list(t, "{{join .Imports \" \"}}", "./"+family+"/...") {
			if slices.Contains([]string{simulated, simulated + "/sim", simulated + "/scenario", simulated + "/envtest"}, path) {
				t.Errorf("%s imports %s", family, path)
			}
		}
	}
	if !slices.Contains(deps(t, "./train"), simulated) { // else this test sees nothing
		t.Errorf("train does not link %s, in which it plays", simulated)
	}
}

// deps lists all packages that those of a pattern link, themselves included.
func deps(t *testing.T, pattern string) []string {
	t.Helper()
	paths := list(t, "{{.ImportPath}}", "-deps", pattern)
	if len(paths) < 10 {
		t.Fatalf("%s links only %q", pattern, paths)
	}
	return paths
}

// list is what `go list` prints in that format, word by word.
func list(t *testing.T, format string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-f", format}, args...)...)
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list %s: %v\n%s", args, err, stderr.Bytes())
	}
	return strings.Fields(string(out))
}
