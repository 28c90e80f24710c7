package speeds

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/train/ensemble"
	"github.com/clustergym/clustergym/train/recipe"
)

// small returns settings and options of a run of seconds.
func small(t *testing.T, dir string) (Config, Options) {
	t.Helper()
	s, err := scenario.Load(scenario.Untold("embedded-physics-v1"))
	if err != nil {
		t.Fatal(err)
	}
	s.Workload.Jobs, s.Window.Arrivals = 600, 50
	cfg := DefaultConfig()
	cfg.Clusters, cfg.Held, cfg.Windows, cfg.Examples, cfg.Hidden, cfg.Epochs = 2, 1, 2, 300, 4, 3
	return cfg, Options{ensemble.Options{Dir: dir}, []*scenario.Scenario{s}}
}

// TestResumedRunsEndAlike checks that a run which is stopped after any epoch, in the middle of the next, and resumed writes the
// same bytes as one that is not stopped.
func TestResumedRunsEndAlike(t *testing.T) {
	whole := t.TempDir()
	cfg, opt := small(t, whole)
	want, err := Run(t.Context(), cfg, opt)
	if err != nil {
		t.Fatal(err)
	}
	if s := want.Scores; len(want.Network.Members) != 2 || len(s) != 1 || s[0].Learned.Examples == 0 || s[0].FitReadings.Examples == 0 {
		t.Errorf("scores %+v", s)
	}
	parts := t.TempDir()
	_, opt = small(t, parts)
	for epochs := 0; ; {
		ctx, cancel := context.WithCancel(t.Context())
		begun := epochs
		epochs = 0
		opt.Progress = func(*ensemble.Metrics) {
			if epochs++; epochs > begun {
				cancel()
			}
		}
		_, err := Run(ctx, cfg, opt)
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		opt.Resume = true
	}
	for _, name := range []string{belief.SpeedNetworkFile, ensemble.MetricsName, recipe.Name, ensemble.CardName} {
		a, err := os.ReadFile(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(parts, name))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs (error %v):\n%.2000s\nwant\n%.2000s", name, err, b, a)
		}
	}
	made, err := ReadRecipe(parts)
	if err != nil || made.Speeds != cfg || len(made.Scenarios) != 1 {
		t.Errorf("recipe %+v, error %v", made, err)
	}
	cfg.Seed++
	if _, err := Run(t.Context(), cfg, opt); !errors.Is(err, recipe.ErrMismatch) || !strings.Contains(err.Error(), "seed: 1") {
		t.Errorf("resumed with another seed: error %v", err)
	}
	opt.Resume, opt.Dir = true, t.TempDir()
	if _, err := Run(t.Context(), cfg, opt); !errors.Is(err, checkpoints.ErrNone) {
		t.Errorf("resumed in an empty folder: error %v", err)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	cfg, opt := small(t, t.TempDir())
	cfg.Within = 2
	if _, err := Run(t.Context(), cfg, opt); err == nil || !strings.Contains(err.Error(), "speeds.within: 2, want 0.01 to 1") {
		t.Errorf("other clusters than can be drawn: error %v", err)
	}
	cfg, opt = small(t, t.TempDir())
	s, err := scenario.Load("embedded-physics-v1")
	if err != nil {
		t.Fatal(err)
	}
	opt.Scenarios[0] = s
	if _, err := Run(t.Context(), cfg, opt); err == nil || !strings.Contains(err.Error(), "as in embedded-physics-untold-v1") {
		t.Errorf("a scenario that tells speeds: error %v", err)
	}
}

// TestExamplesComeFromOtherClusters checks that clusters of other numbers, and of no other seed, run models at other speeds.
func TestExamplesComeFromOtherClusters(t *testing.T) {
	cfg, opt := small(t, "")
	s := opt.Scenarios[0]
	a, b := drawn(s, &cfg, 0), drawn(s, &cfg, 1)
	if a.Workload.Vary == b.Workload.Vary || a.Workload.Vary == s.Workload.Vary || a.Workload.Vary != drawn(s, &cfg, 0).Workload.Vary {
		t.Errorf("clusters %+v and %+v of %+v", a.Workload.Vary, b.Workload.Vary, s.Workload.Vary)
	}
	first, err := play(t.Context(), s, scenario.Train, &cfg, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(first) == 0 || len(first) > cfg.Examples {
		t.Errorf("%d examples, want 1 to %d", len(first), cfg.Examples)
	}
}
