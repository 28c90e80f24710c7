package all

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWrittenNames checks that every name of a policy with options or suffixes in docs, recipes, scenarios, examples and the Python
// package is parsed, and prints itself back.
func TestWrittenNames(t *testing.T) {
	bases := append(Table().Names(), "prior", "released")
	name := regexp.MustCompile(`(?:^|[\s"'` + "`" + `,=|(])((?:` + strings.Join(bases, "|") + `)(?::[a-z]+=[\w./()=-]*[\w)]|\+(?:menu|move|loan|know)\b)+)`)
	var names []string
	for _, root := range []string{"README.md", "Makefile", "docs", "examples", "python", "env/scenario", "eval/bench"} {
		err := filepath.WalkDir("../../"+root, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && d.Name() == "build" {
				return filepath.SkipDir // what make python-test leaves
			}
			if err != nil || d.IsDir() || !slices.Contains([]string{".md", ".yaml", ".py", ""}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range name.FindAllSubmatch(text, -1) {
				names = append(names, string(found[1]))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) < 50 {
		t.Fatalf("only %q are written", names)
	}
	for _, name := range names {
		if s, err := Table().ParsePolicy(name); err != nil || s.String() != name {
			t.Errorf("%s prints itself as %s, error %v", name, s, err)
		}
	}
}
