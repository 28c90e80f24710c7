package runtimes

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
	s, err := scenario.Load("embedded-small-v1")
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Examples, cfg.Hidden, cfg.Epochs, cfg.Patience = 300, 4, 3, 3
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
	if len(want.Network.Members) != 2 || len(want.Scores) != 1 || want.Scores[0].Learned.Jobs == 0 {
		t.Errorf("result %+v", want)
	}
	parts := t.TempDir()
	_, opt = small(t, parts)
	epochs := 0
	for {
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
		if opt.Resume && epochs != begun+1 {
			t.Fatalf("resumed after %d epochs, it told of %d", begun, epochs)
		}
		opt.Resume = true
	}
	for _, name := range []string{belief.NetworkFile, ensemble.MetricsName, recipe.Name, ensemble.CardName} {
		a, err := os.ReadFile(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(parts, name))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs (error %v):\n%.2000s\nwant\n%.2000s", name, err, b, a)
		}
	}
	if net, err := belief.OpenNetwork(parts); err != nil || len(net.Members) != 2 {
		t.Errorf("network %v, error %v", net, err)
	}
	made, err := ReadRecipe(parts)
	if err != nil || made.Beliefs != cfg || len(made.Scenarios) != 1 {
		t.Errorf("recipe %+v, error %v", made, err)
	}
	cfg.Seed++
	if _, err := Run(t.Context(), cfg, opt); !errors.Is(err, recipe.ErrMismatch) || !strings.Contains(err.Error(), "seed: 1") {
		t.Errorf("resumed with another seed: error %v", err)
	}
	opt.Resume = false
	if _, err := Run(t.Context(), cfg, opt); err == nil || !strings.Contains(err.Error(), "holds a run already") {
		t.Errorf("begun again: error %v", err)
	}
	opt.Resume, opt.Dir = true, t.TempDir()
	if _, err := Run(t.Context(), cfg, opt); !errors.Is(err, checkpoints.ErrNone) {
		t.Errorf("resumed in an empty folder: error %v", err)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	cfg, opt := small(t, t.TempDir())
	cfg.Hidden = 0
	if _, err := Run(t.Context(), cfg, opt); err == nil || !strings.Contains(err.Error(), "beliefs.hidden: 0, want 1 to 1024") {
		t.Errorf("no hidden units: error %v", err)
	}
}
