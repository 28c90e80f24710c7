package floors

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestProductionLinksNoGorgonia checks that production packages do not link Gorgonia, not even through others. The module of
// clustergym-kube has its own test.
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
	if !strings.Contains(training, "gorgonia.org/") { // otherwise the list of packages would be useless
		t.Errorf("train links no Gorgonia, with which it trains, but\n%s", training)
	}
}

// TestProductionLinksWhatItUses checks that the packages that decide in production do not link the simulator, trace readers,
// forests, training or writers of models. The module cmd/clustergym-kube has the same test for its program. Package cli links all
// of them.
func TestProductionLinksWhatItUses(t *testing.T) {
	readTree(t)
	const module = "github.com/clustergym/clustergym/"
	unused := []string{"env", "env/sim", "env/trace", "env/scenario", "baselines/forest", "internal/onnx"}
	for _, family := range []string{"env/candidates", "env/observe", "env/game", "baselines", "agents", "policy", "serve/decide", "serve"} {
		linked := deps(t, "./"+family)
		for _, name := range unused {
			if slices.Contains(linked, module+name) {
				t.Errorf("%s links %s", family, name)
			}
		}
	}
	all := deps(t, "./cli")
	for _, name := range unused {
		if !slices.Contains(all, module+name) { // otherwise the name would be wrong
			t.Errorf("cli does not link %s: is that its name?", name)
		}
	}
}

// deps returns all packages that the packages of a pattern link, including themselves.
func deps(t *testing.T, pattern string) []string {
	t.Helper()
	paths := list(t, "{{.ImportPath}}", "-deps", pattern)
	if len(paths) < 10 {
		t.Fatalf("%s links only %q", pattern, paths)
	}
	return paths
}

// list returns the words that `go list` prints in the given format.
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
