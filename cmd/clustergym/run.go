package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/train"
)

// isRun reports whether a folder is that of a training run.
func isRun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "run.yaml"))
	return err == nil
}

// readRecipe returns what fixed the result of the run in dir.
func readRecipe(dir string) (*train.Recipe, error) {
	r, err := train.ReadRecipe(dir)
	if errors.Is(err, checkpoints.ErrNone) {
		return nil, noRun(err)
	}
	return r, err
}

// loadRun reads the best weights in the newest checkpoint of a run, and where they come from.
func loadRun(dir string) (*agents.Policy, checkpoints.Provenance, error) {
	p, training, err := train.Open(dir)
	training.Git, training.Go = revision(), runtime.Version()
	return p, training, err
}

// revision is the commit that the program was built from, as far as the build knows it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return version
}
