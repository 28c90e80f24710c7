// Package sharedtest finds the folder of real traces and reference schedules, which tests read and which is not part of the
// repository.
package sharedtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clustergym/clustergym/internal/needs"
)

// Dir returns the shared folder, or the named folder in it: CLUSTERGYM_SHARED if set, otherwise ../shared beside the module. If
// the folder does not exist, Dir skips the test, or fails it if CI=true.
func Dir(tb testing.TB, within ...string) string {
	tb.Helper()
	dir, ok := Find()
	if !ok {
		needs.Missing(tb, "the traces", needs.Traces)
	}
	dir = filepath.Join(append([]string{dir}, within...)...)
	if _, err := os.Stat(dir); err != nil {
		needs.Missing(tb, "the folder "+filepath.Join(within...)+" beside the traces", "set CLUSTERGYM_SHARED to a folder that has it")
	}
	return dir
}

// Find returns the shared folder and whether it exists.
func Find() (string, bool) {
	dir := os.Getenv("CLUSTERGYM_SHARED")
	if dir == "" {
		root, err := moduleRoot()
		if err != nil {
			return "", false
		}
		dir = filepath.Join(filepath.Dir(root), "shared")
	}
	info, err := os.Stat(dir)
	return dir, err == nil && info.IsDir()
}

// moduleRoot returns the folder of the outermost module that contains the working folder. Modules may be nested.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	root, err := "", os.ErrNotExist
	for {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			root, err = dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return root, err
		}
		dir = parent
	}
}
