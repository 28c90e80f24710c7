package cli

import (
	"path/filepath"
	"testing"
)

func TestCalledAs(t *testing.T) {
	here, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
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
