package cli

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/train"
)

// readRecipe returns the recipe of the run in dir: the settings that determine its result.
func readRecipe(dir string) (*train.Recipe, error) {
	r, err := train.ReadRecipe(dir)
	if errors.Is(err, checkpoints.ErrNone) {
		return nil, cmdline.NoRun(err)
	}
	return r, err
}

// warned returns a function for train.Open that accepts an older checkpoint if the newest is damaged, and warns of it.
func warned(dir string, warn func(error)) func(*train.OlderError) error {
	return func(e *train.OlderError) error {
		warn(fmt.Errorf("run %s: %w", dir, e))
		return nil
	}
}

// loadRun reads the best weights in the newest checkpoint of a run, and their provenance. The parameter older is that of
// train.Open.
func (a *app) loadRun(dir string, older func(*train.OlderError) error) (*agents.Policy, checkpoints.Provenance, error) {
	p, training, err := train.Open(dir, a.table(), older)
	training.Git, training.Go = revision(), runtime.Version()
	return p, training, err
}

// revision returns the commit that the program was built from, or its version if the build does not contain the commit.
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
