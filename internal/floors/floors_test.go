package floors

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/internal/must"
)

var update = flag.Bool("update", false, "write the table, the walks and the drawing of docs/house.md")

// TestHouse checks that the module follows its rules and that docs/house.md shows them.
func TestHouse(t *testing.T) {
	rules, packages := house(), packages(t)
	for _, violation := range rules.check(packages) {
		t.Error(violation)
	}
	var drawing, table, ways bytes.Buffer
	must.Do(t, errors.Join(rules.draw(&drawing, packages), rules.table(&table), showWalks(&ways)))
	const page = "../../docs/house.md"
	text := read(t, page)
	want := put(t, put(t, text, "floors", table.String()), "walks", ways.String())
	for _, file := range []struct{ name, has, want string }{
		{page, text, want}, {"../../docs/house.svg", read(t, "../../docs/house.svg"), drawing.String()},
	} {
		if file.has == file.want {
			continue
		}
		if !*update {
			t.Errorf("%s does not show the packages as they are: go test ./internal/floors -update writes it", file.name)
		} else if err := os.WriteFile(file.name, []byte(file.want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// put returns a page with the text between the two lines that mark a section of it.
func put(t *testing.T, page, section, text string) string {
	t.Helper()
	begin, end := "<!-- "+section+": go test ./internal/floors -update -->\n", "<!-- end of "+section+" -->\n"
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("docs/house.md has no lines %q and %q", begin, end)
	}
	return before + begin + text + end + after
}

// read returns the content of a file, or "" if it does not exist.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// packages returns the packages of the module.
func packages(t *testing.T) []listed {
	t.Helper()
	readTree(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports,Deps",
		house().Module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v\n%s", err, stderr.Bytes())
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		must.Do(t, err)
		all = append(all, p)
	}
}

// readTree walks the module's folders. The go command reuses the result of a passing test until a file changes that the test
// itself has opened; it does not notice what the child process reads.
func readTree(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "runs") {
			return fs.SkipDir
		}
		return err
	})
	must.Do(t, err)
}

// toy returns rules for a few packages with a fenced module.
func toy() rules {
	return rules{
		Module: "m",
		Rooms: []entry{
			{1, "internal/x", ""}, {1, "internal/y", ""}, {2, "low", ""}, {2, "beside", ""}, {2, "low/graph", ""},
			{3, "high", "what stands high"}, {4, "cmd", ""},
		},
		Floors: []string{"tools", "ground", "middle", "top"},
		Fences: []fence{{Module: "fenced.org", Direct: []string{"low/graph"}, Through: []string{"cmd"}}},
	}
}

// TestCheckSees checks that each kind of violation is reported, and that nothing else is.
func TestCheckSees(t *testing.T) {
	type pkg = listed
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
		{"upwards", []pkg{imports("m/low", "m/high")}, []string{"low (floor 2) imports high (floor 3)"}},
		{"sideways to one before it", []pkg{imports("m/beside", "m/low")}, nil},
		{"sideways to one after it", []pkg{imports("m/low", "m/beside")}, []string{"low imports beside, which stands after it on floor 2"}},
		{"internal reaches up", []pkg{imports("m/internal/x", "m/low")}, []string{"internal/x (floor 1) imports low (floor 2)"}},
		{"internal packages on one floor", []pkg{imports("m/internal/x", "m/internal/y")},
			[]string{"internal/x imports internal/y, which stands after it on floor 1"}},
		{"a part has no floor by its parent", []pkg{imports("m/low", "m/low/part"), imports("m/low/part")}, []string{"low/part has no floor"}},
		{"a part with its own floor", []pkg{imports("m/low", "m/low/graph")}, []string{"low imports low/graph, which stands after it on floor 2"}},
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
		var rest []pkg // the packages that the case does not mention
		for _, room := range toy().Rooms {
			if path := "m/" + room.Package; !slices.ContainsFunc(c.list, func(p pkg) bool { return p.ImportPath == path }) {
				rest = append(rest, imports(path))
			}
		}
		if d := cmp.Diff(c.want, toy().check(append(c.list, rest...))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// TestCheckSeesRooms checks that rules are wrong if they list a missing package, a package twice, or a package after one of a
// higher floor.
func TestCheckSeesRooms(t *testing.T) {
	rules := rules{Module: "m", Rooms: []entry{{1, "b", ""}, {2, "a", ""}, {1, "a", ""}, {3, "gone", ""}}}
	want := []string{"a (floor 1) stands after a (floor 2)", "a has two floors", "gone has a floor and is no package"}
	if d := cmp.Diff(want, rules.check([]listed{{ImportPath: "m/a"}, {ImportPath: "m/b"}})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestDraw checks that the drawing has a line to each package that is not reached in another way.
func TestDraw(t *testing.T) {
	var b strings.Builder
	err := toy().draw(&b, []listed{
		{ImportPath: "m/low", Imports: []string{"m/internal/x"}, Deps: []string{"m/internal/x"}},
		{ImportPath: "m/low/graph", Imports: []string{"m/low"}, Deps: []string{"m/low", "m/internal/x"}},
		{ImportPath: "m/high", Imports: []string{"m/low", "m/low/graph"}, Deps: []string{"m/low", "m/low/graph", "m/internal/x"}},
	})
	must.Do(t, err)
	if got := strings.Count(b.String(), "<path"); got != 2 {
		t.Errorf("%d lines, want 2", got)
	}
	if !strings.Contains(b.String(), "<title>what stands high</title>") || strings.Contains(b.String(), "internal") {
		t.Errorf("drawn is\n%s", b.String())
	}
}
