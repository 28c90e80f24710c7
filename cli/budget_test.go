package cli

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/scenario"
	require "github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/train"
)

var lowerBudget = flag.Bool("lower-budget", false, "lower the budget to what there is")

const budgetFile = "testdata/budget.yaml"

// budgetText stands at the top of the file.
const budgetText = `# The most that the repository may contain. TestBudget fails above it. These numbers only fall:
# go test ./cli -run TestBudget -lower-budget writes what there is, where that is less. Who raises one says in docs/adr what went instead.
`

// budget counts what makes a project hard to learn and to change.
type budget struct {
	Lines    map[string]int `yaml:"lines"`    // of Go outside tests, by top-level folder
	Tests    int            `yaml:"tests"`    // lines of Go in tests
	Settings map[string]int `yaml:"settings"` // that a user can change, by kind
	Words    int            `yaml:"words"`    // in docs, without references that are generated and without docs/adr
}

// TestBudget checks that nothing has grown.
func TestBudget(t *testing.T) {
	text := require.Get(os.ReadFile(budgetFile))(t)
	var most budget
	require.Do(t, yaml.Unmarshal(text, &most))
	now := counted(t)
	for _, c := range []struct {
		what      string
		now, most map[string]int
	}{
		{"lines of Go in ", now.Lines, most.Lines},
		{"settings: ", now.Settings, most.Settings},
		{"", map[string]int{"lines of tests": now.Tests, "words in docs": now.Words}, map[string]int{"lines of tests": most.Tests, "words in docs": most.Words}},
	} {
		for name, n := range c.now {
			if n > c.most[name] {
				t.Errorf("%s%s: %d, and the budget is %d: see %s", c.what, name, n, c.most[name], budgetFile)
			}
		}
	}
	if !*lowerBudget || t.Failed() {
		return
	}
	b := require.Get(yaml.Marshal(now))(t)
	require.Do(t, os.WriteFile(budgetFile, append([]byte(budgetText), b...), 0o644))
}

func counted(t *testing.T) budget {
	flags := map[string]bool{}
	addFlags(flags, newRootCmd(&app{}))
	b := budget{Lines: map[string]int{}, Settings: map[string]int{
		"flags": len(flags), "train": leaves(reflect.TypeFor[train.Config]()), "scenario": leaves(reflect.TypeFor[scenario.Scenario]()),
	}}
	own := map[string]bool{}
	for _, base := range all.Table().All() {
		for _, o := range base.Options() {
			own[base.Name+":"+o.Name] = true
		}
	}
	b.Settings["baselines"] = len(own)
	for _, path := range tracked(t) {
		top, _, nested := strings.Cut(path, "/")
		text, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			continue // removed in the working tree
		}
		lines := strings.Count(string(text), "\n")
		switch {
		case strings.HasSuffix(path, "_test.go"):
			b.Tests += lines
		case strings.HasSuffix(path, ".go") && nested && !slices.Contains([]string{"studies", "examples", "python"}, top):
			b.Lines[top] += lines
		case strings.HasSuffix(path, ".md") && top == "docs" && !uncounted(path):
			b.Words += len(strings.Fields(string(text)))
		}
	}
	return b
}

func uncounted(path string) bool {
	return strings.HasPrefix(path, "docs/cli/") || strings.HasPrefix(path, "docs/adr/") || path == "docs/python-api.md"
}

// tracked returns the files of the repository. Without git, as in an archive, it skips the test.
func tracked(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("no git repository to count: %v", err)
	}
	return strings.Fields(string(out))
}

// addFlags adds the names of the flags of a command and its subcommands. Commands share most of them.
func addFlags(names map[string]bool, cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
	for _, sub := range cmd.Commands() {
		addFlags(names, sub)
	}
}

// leaves counts the settings of a configuration: its fields, and those of the structs in it.
func leaves(typ reflect.Type) (n int) {
	for f := range typ.Fields() {
		switch {
		case !f.IsExported():
		case f.Type.Kind() == reflect.Struct:
			n += leaves(f.Type)
		default:
			n++
		}
	}
	return n
}
