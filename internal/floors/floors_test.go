package floors_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clustergym/clustergym/internal/floors"
	"github.com/google/go-cmp/cmp"
)

// The module keeps its own rules.
func TestHouse(t *testing.T) {
	rules := floors.House()
	readTree(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports,Deps", rules.Module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v\n%s", err, stderr.Bytes())
	}
	var packages []floors.Package
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p floors.Package
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if len(packages) < 5 {
		t.Fatalf("only %d packages listed", len(packages))
	}
	for _, violation := range rules.Check(packages) {
		t.Error(violation)
	}
}

// readTree walks the module's folders. The go command caches a passing test until a file changes that the test itself has
// looked at, and does not see what the child process reads.
func readTree(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "runs") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// toy is a house of three floors with a fenced module.
func toy() floors.Rules {
	return floors.Rules{
		Module: "m",
		Floors: []floors.Floor{{-1, "internal"}, {0, "low"}, {0, "beside"}, {0.5, "low/graph"}, {1, "high"}, {2, "cmd"}},
		Fences: []floors.Fence{{Module: "fenced.org", Direct: []string{"low/graph"}, Through: []string{"cmd"}}},
	}
}

// Each violation is seen, and what is allowed is not.
func TestCheckSees(t *testing.T) {
	type pkg = floors.Package
	imports := func(name string, targets ...string) pkg {
		return pkg{ImportPath: name, Imports: targets, Deps: targets}
	}
	graph := imports("m/low/graph", "m/low", "fenced.org/a")
	for _, c := range []struct {
		name string
		list []pkg
		want []string
	}{
		{"downwards is fine", []pkg{imports("m/high", "m/low", "m/internal/x", "fmt", "other.org/high")}, nil},
		{"upwards", []pkg{imports("m/low", "m/high")}, []string{"low (floor 0) imports high (floor 1)"}},
		{"sideways", []pkg{imports("m/low", "m/beside")}, []string{"low (floor 0) imports beside (floor 0)"}},
		{"internal reaches up", []pkg{imports("m/internal/x", "m/low")}, []string{"internal/x (floor -1) imports low (floor 0)"}},
		{"internal packages use each other", []pkg{imports("m/internal/x", "m/internal/y")}, nil},
		{"a family may use its own parts", []pkg{imports("m/low", "m/low/part"), imports("m/low/part")}, nil},
		{"a part counts as its family", []pkg{imports("m/low/part", "m/high")}, []string{"low/part (floor 0) imports high (floor 1)"}},
		{"a part with its own floor", []pkg{imports("m/low", "m/low/graph")}, []string{"low (floor 0) imports low/graph (floor 0.5)"}},
		{"a name that only begins alike", []pkg{imports("m/lower")}, []string{"lower has no floor"}},
		{"no floor", []pkg{imports("m/new", "m/low"), imports("m")}, []string{". has no floor", "new has no floor"}},
		{"tests may look up", []pkg{{ImportPath: "m/low", TestImports: []string{"m/high"}, XTestImports: []string{"m/beside"}}}, nil},
		{"the fence holds directly", []pkg{imports("m/low", "fenced.org/a")}, []string{"low imports fenced.org/a"}},
		{"the fence holds for commands too", []pkg{imports("m/cmd", "fenced.org/a")}, []string{"cmd imports fenced.org/a"}},
		{"the fence holds for tests", []pkg{{ImportPath: "m/low", XTestImports: []string{"fenced.org"}}}, []string{"low imports fenced.org"}},
		{"inside the fence", []pkg{graph}, nil},
		{"through the fence where allowed", []pkg{graph, {ImportPath: "m/cmd", Imports: []string{"m/low/graph"}, Deps: []string{"m/low/graph", "m/low", "fenced.org/a"}}}, nil},
		{"through the fence", []pkg{graph, {ImportPath: "m/high", Imports: []string{"m/low/graph"}, Deps: []string{"m/low/graph", "m/low", "fenced.org/a"}}},
			[]string{"high depends on fenced.org through low/graph"}},
		{"through the fence in a test", []pkg{graph, {ImportPath: "m/low", TestImports: []string{"m/low/graph"}}},
			[]string{"tests of low depend on fenced.org through low/graph"}},
		{"a module of a like name is outside", []pkg{imports("m/low", "fenced.org.uk/a")}, nil},
		{"foreign packages are not judged", []pkg{imports("other.org/x", "m/high", "fenced.org/a")}, nil},
	} {
		if d := cmp.Diff(c.want, toy().Check(c.list)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}
