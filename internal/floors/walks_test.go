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

// call is a call from one package to another: the caller, the package that declares what is called, its name, and what it does
// to the thing. A scheduler, a placer or a player is called through an interface; the package named is one that implements it.
type call struct{ caller, callee, name, does string }

// walks are the three ways that docs/house.md shows.
func walks() []walk {
	const kube = "cmd/clustergym-kube/"
	return []walk{
		{"A row of a trace", "the file", "a metric", 8, []call{
			{"env/scenario", "env/trace", "Read", "reads the file, and makes a job of each row"},
			{"eval", "env/scenario", "Episode", "deals out the jobs of one window"},
			{"eval", "env/sim", "Run", "plays the window, and writes the event log from which metrics are computed"},
			{"env/sim", "env/cluster", "Submit", "puts the job into the queue when its time comes"},
			{"env/sim", "baselines", "Schedule", "asks which jobs start now"},
			{"baselines", "env/placement", "Place", "asks where the next job of the order starts"},
			{"env/placement", "env/cluster", "BestFit", "finds the servers"},
			{"env/placement", "env/cluster", "Place", "gives the job its GPUs"},
		}},
		{"A pod", "the API server", "its binding", 8, []call{
			{kube + "control", kube + "mirror", "Build", "makes jobs of pods and servers of nodes"},
			{kube + "mirror", "env/cluster", "NewState", "puts them into a state"},
			{kube + "control", "serve/decide", "Decide", "asks for a decision about the state, under limits"},
			{"serve/decide", "env/game", "Schedule", "asks the team"},
			{"env/game", "agents", "Act", "asks each server's agent which candidate it names"},
			{"env/game", "env/candidates", "TakeAll", "carries out the candidate that the servers agree on"},
			{"env/candidates", "env/cluster", "Place", "gives the job its GPUs in the state"},
			{kube + "control", kube + "act", "Bind", "binds the pods to their nodes"},
		}},
		{"An observation", "the state of the cluster", "an action of each server", 6, []call{
			{"env", "env/game", "Show", "lists the candidates of the decision"},
			{"env/game", "env/observe", "Encode", "turns servers, jobs and candidates into rows of numbers"},
			{"env/game", "agents", "Act", "gives the rows to the team"},
			{"agents", "attention", "Readout", "computes a bid for each candidate"},
			{"agents", "coordgraph", "Payoff", "adds what servers decide better together"},
			{"agents", "env/game", "Unanimous", "lets every server that the best candidate needs name it"},
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
			fmt.Fprintf(&b, "  %d. `%s` %s: `%s.%s`\n", i+1, c.caller, c.does, c.callee, c.name)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
