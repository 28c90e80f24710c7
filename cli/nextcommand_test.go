package cli

import (
	"path/filepath"
	"testing"

	require "github.com/clustergym/clustergym/internal/must"
)

func TestCalledAs(t *testing.T) {
	here := require.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	t.Chdir(here)
	for arg, want := range map[string]string{
		"clustergym": "clustergym", "bin/clustergym": "bin/clustergym", "./clustergym": "./clustergym",
		filepath.Join(here, "bin", "clustergym"): "./bin/clustergym", "/usr/local/bin/clustergym": "/usr/local/bin/clustergym",
	} {
		if got := calledAs(arg); got != want {
			t.Errorf("%s: %s, want %s", arg, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"runs/a-s1,b:c=d": "runs/a-s1,b:c=d", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'",
	} {
		if got := quote(word); got != want {
			t.Errorf("quote(%q) = %s, want %s", word, got, want)
		}
	}
}
