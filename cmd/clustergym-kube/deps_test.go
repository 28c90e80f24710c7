package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

// TestLinksNothingOfTrainingOrTests checks that the program does not link Gorgonia, writers of models, scenarios,
// forests, Kubernetes' own servers, or code of the tests. It links
// the simulator, in which --starts plays a round on.
func TestLinksNothingOfTrainingOrTests(t *testing.T) {
	for _, dir := range []string{"../../go.mod", "go.mod", "../../*/*.go", "../../*/*/*.go", "*.go", "*/*.go"} {
		files, err := filepath.Glob(dir) // opens the files that go list reads, so that a cached result is valid for them
		must.Do(t, err)
		for _, file := range files {
			if _, err := os.Stat(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v\n%s", err, stderr.Bytes())
	}
	const module = "github.com/clustergym/clustergym/"
	paths, needs := strings.Fields(string(out)), module+"cmd/clustergym-kube/control"
	for _, path := range paths {
		for _, not := range []string{
			"gorgonia.org/", "k8s.io/kubernetes/", "sigs.k8s.io/kwok/", "testing", module + "env", module + "env/scenario",
			module + "baselines/forest", module + "internal/onnx",
		} {
			if path == not || strings.HasPrefix(path, not) && strings.HasSuffix(not, "/") {
				t.Errorf("the program links %s", path)
			}
		}
		if path == needs {
			needs = ""
		}
	}
	if needs != "" { // otherwise the list of packages would be useless
		t.Errorf("the program does not link %s, but %q", needs, paths)
	}
}
