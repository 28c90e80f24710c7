package floors

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

// walk is the way of one thing through the house: the calls from package to package that it takes, in order.
type walk struct {
	what, from, to string
	most           int // calls between packages that it may take
	calls          []call
}

// call is a call from one package to another: the caller, the package that declares what is called, and its name. A scheduler,
// a placer or a player is called through an interface; the package named is then one that implements it.
type call struct{ caller, callee, name string }

// walks are the three ways that docs/house.md shows.
func walks() []walk {
	const kube = "cmd/clustergym-kube/"
	return []walk{
		{"A row of a trace", "the file", "a metric", 9, []call{
			{"env/scenario", "env/trace", "Read"},
			{"eval", "env/scenario", "Episode"},
			{"eval", "env/sim", "Run"},
			{"env/sim", "env/cluster", "Submit"},
			{"env/sim", "baselines", "Schedule"},
			{"baselines", "env/placement", "Place"},
			{"env/placement", "env/cluster", "BestFit"},
			{"env/placement", "env/cluster", "Place"},
		}},
		{"A pod", "the API server", "its binding", 8, []call{
			{kube + "control", kube + "mirror", "Build"},
			{kube + "mirror", "env/cluster", "NewState"},
			{kube + "control", "serve/decide", "Decide"},
			{"serve/decide", "env/game", "Schedule"},
			{"env/game", "agents", "Act"},
			{"env/game", "env/candidates", "TakeAll"},
			{"env/candidates", "env/cluster", "Place"},
			{kube + "control", kube + "act", "Bind"},
		}},
		{"An observation", "the state of the cluster", "an action of each server", 6, []call{
			{"env", "env/game", "Show"},
			{"env/game", "env/observe", "Encode"},
			{"env/game", "agents", "Act"},
			{"agents", "attention", "Readout"},
			{"agents", "coordgraph", "Payoff"},
			{"agents", "env/game", "Unanimous"},
		}},
	}
}

// Every call of the walks is in the code, and no walk takes more calls than it may.
func TestWalks(t *testing.T) {
	read := map[string]names{}
	of := func(folder string) names {
		n, ok := read[folder]
		if !ok {
			n = namesIn(t, filepath.Join("../..", folder))
			read[folder] = n
		}
		return n
	}
	for _, w := range walks() {
		if len(w.calls) > w.most {
			t.Errorf("%s takes %d calls between packages to %s, want at most %d", w.what, len(w.calls), w.to, w.most)
		}
		for _, c := range w.calls {
			if !of(c.caller).called[c.name] {
				t.Errorf("%s: package %s does not call %s", w.what, c.caller, c.name)
			}
			if !of(c.callee).declared[c.name] {
				t.Errorf("%s: package %s does not declare %s", w.what, c.callee, c.name)
			}
		}
	}
}

// names are the functions and methods that a package calls with a selector, and those that it declares.
type names struct{ called, declared map[string]bool }

// namesIn reads the files of a folder that are not tests.
func namesIn(t *testing.T, folder string) names {
	t.Helper()
	n := names{map[string]bool{}, map[string]bool{}}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		ast.Inspect(file, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.FuncDecl:
				n.declared[x.Name.Name] = true
			case *ast.CallExpr:
				switch f := x.Fun.(type) {
				case *ast.SelectorExpr:
					n.called[f.Sel.Name] = true
				case *ast.IndexExpr:
					if s, ok := f.X.(*ast.SelectorExpr); ok {
						n.called[s.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	return n
}

// showWalks writes the walks as docs/house.md shows them.
func showWalks(w io.Writer) error {
	var b bytes.Buffer
	for _, walk := range walks() {
		fmt.Fprintf(&b, "* **%s**, from %s to %s: %d calls between packages.\n", walk.what, walk.from, walk.to, len(walk.calls))
		for i, c := range walk.calls {
			fmt.Fprintf(&b, "  %d. `%s` calls `%s`: `%s`\n", i+1, c.caller, c.callee, c.name)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
