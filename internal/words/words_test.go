package words

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/internal/must"
)

// TestNoRetiredWords checks that no file of the repository contains a retired word: code, docs, manifests and the Makefile. It
// skips test data and the output of programs.
func TestNoRetiredWords(t *testing.T) {
	const root = "../.."
	skipped := []string{".git", "bin", "testdata", "runs"}
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && slices.Contains(skipped, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(path); !slices.Contains([]string{".go", ".md", ".yaml", ".yml"}, ext) && d.Name() != "Makefile" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		name, err := filepath.Rel(root, path)
		for _, use := range Find(filepath.ToSlash(name), string(text)) {
			t.Errorf("%s:%d: %q is retired, write %s", filepath.ToSlash(name), use.Line, use.Word, use.Write)
		}
		return err
	})
	must.Do(t, err)
	if files < 500 {
		t.Errorf("%d files looked at, want all of the repository", files)
	}
}

// TestPageListsRetiredWords checks that docs/words.md names every retired word.
func TestPageListsRetiredWords(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/words.md"))(t)
	page := string(text)
	for _, word := range Retired() {
		if !strings.Contains(page, word) && !strings.Contains(page, strings.TrimSuffix(word, "s")) {
			t.Errorf("docs/words.md lacks the retired word %q", word)
		}
	}
}

// TestFindSees checks that Find finds a retired word alone and within names, and takes no other word for one.
func TestFindSees(t *testing.T) {
	for _, c := range []struct {
		path, text string
		want       []string
	}{
		{"train/run.go", "every exam and all EXAMS", []string{"1 exam", "1 exams"}},
		{"train/run.go", "examEvery\nr.theExams, exam_every", []string{"1 exam", "2 exams", "2 exam"}},
		{"train/run.go", "an example, examine, Example_exams", []string{"1 exams"}},
		{"serve/a.go", "`json:\"strange_choices\"`", []string{"1 strange"}},
		{"serve/a.go", "m.strangeChoices, GPUOffers, HTTPNap", []string{"1 strange", "1 offers", "1 nap"}},
		{"serve/a.go", "kidnap, a snapshot, a runbook, offered, crowding, snapsOfferings", nil},
		{"serve/a.go", "the first in line\nwaits in line\na key in line 2", []string{"1 first in line", "2 waits in line"}},
		{"env/a.go", "func (e *x) Listen(tx *cluster.Txn) {}", []string{"1 Listen(tx *cluster."}},
		{"env/a.go", "net.Listen(\"tcp\", address)", nil},
		{"env/a.go", "an offer\nservers on offer in the pool\nx.SetOffer(1, 0)", []string{"1 offer"}},
		{"env/inference/a.go", "an offer, an exam", []string{"1 exam"}},
		{"env/inference.go", "an offer", []string{"1 offer"}},
	} {
		var got []string
		for _, u := range Find(c.path, c.text) {
			got = append(got, fmt.Sprint(u.Line, " ", u.Word))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %q (-want +got):\n%s", c.path, c.text, diff)
		}
	}
}
