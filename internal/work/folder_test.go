package work

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/clustergym/clustergym/internal/folderlock"
	"github.com/clustergym/clustergym/internal/must"
)

// TestAbandonedFoldersAreRemoved checks that a broker removes the folders of brokers that were killed, and no others.
func TestAbandonedFoldersAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	make := func(name string, files ...string) string {
		dir := filepath.Join(os.TempDir(), name)
		must.Do(t, os.Mkdir(dir, 0o700))
		for _, file := range files {
			must.Do(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
		}
		return dir
	}
	abandoned := make(folderName+"1", folderlock.Name, "file")
	foreign, other := make(folderName+"2", "file"), make("other", folderlock.Name)
	first, remove, err := makeFolder()
	must.Do(t, err)
	second, removeSecond, err := makeFolder()
	must.Do(t, err)
	for dir, want := range map[string]bool{abandoned: false, foreign: true, other: true, first: true, second: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: there %t (%v), want %t", filepath.Base(dir), err == nil, err, want)
		}
	}
	remove()
	removeSecond()
	for _, dir := range []string{first, second} {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s stays: %v", dir, err)
		}
	}
}
