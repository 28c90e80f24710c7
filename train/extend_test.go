package train

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/train/recipe"
)

// extended returns a resumed run with another number of updates.
func extended(cfg Config, opt Options, updates int) (Config, Options) {
	cfg.Updates, opt.Resume = updates, true
	return cfg, opt
}

// TestExtendedRuns checks that a finished and an unfinished run go on to more updates, with the updates before unchanged; that
// the recipe records it; that a new run by this recipe equals the extended run; and that the run differs from one that began with
// as many updates.
func TestExtendedRuns(t *testing.T) {
	for _, c := range []struct {
		name   string
		of     int // updates at first
		stop   int // after this update, 0 for not
		expert int
		want   []Planned
	}{
		{"finished", 4, 0, 3, []Planned{{4, 4}}},
		{"stopped between checkpoints", 5, 3, 3, []Planned{{3, 5}}},
		{"before its first update", 4, 0, 3, nil},
		{"with more updates from labels", 3, 0, 5, []Planned{{3, 3}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, opt := tiny(t)
			cfg.Updates = c.of
			first := opt
			if c.stop > 0 {
				first = stopAfter(opt, c.stop)
			}
			if c.want == nil {
				stop := make(chan struct{})
				close(stop)
				first.Stop = stop
			}
			if _, _, err := Run(t.Context(), cfg, first); err != nil {
				t.Fatal(err)
			}
			before := results(t, opt.Dir)[metricsName]

			more, resumed := extended(cfg, opt, 6)
			more.Expert = c.expert
			policy := mustRun(t, more, resumed)
			text := results(t, opt.Dir)
			if !bytes.HasPrefix(text[metricsName], before) {
				t.Error("the first updates changed")
			}
			r := must.Get(ReadRecipe(opt.Dir))(t)
			if !slices.Equal(r.Train.Extended, c.want) || r.Train.Updates != 6 {
				t.Errorf("recorded %d updates after %v, want 6 after %v", r.Train.Updates, r.Train.Extended, c.want)
			}

			again := fresh(t, opt)
			sameWeights(t, mustRun(t, r.Train, again), policy)
			same(t, again.Dir, opt.Dir)

			outright := fresh(t, opt)
			more.Extended = nil
			mustRun(t, more, outright)
			if other := results(t, outright.Dir)[metricsName]; bytes.Equal(other, text[metricsName]) != (c.want == nil) {
				t.Errorf("equal to a run that began with 6 updates: %v", bytes.Equal(other, text[metricsName]))
			}
		})
	}
}

// TestExtendedTwice checks that a run that is extended twice, stopped and killed in between, comes to the same end as one by its
// recipe.
func TestExtendedTwice(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Updates = 2
	mustRun(t, cfg, opt)
	more, resumed := extended(cfg, opt, 9)
	if _, stopped, err := Run(t.Context(), more, stopAfter(resumed, 3)); err != nil || !stopped {
		t.Fatalf("stopped %v, error %v", stopped, err)
	}
	more, resumed = extended(more, resumed, 7)
	if _, _, err := Run(t.Context(), more, stopAfter(resumed, 3)); err != nil { // no update in between
		t.Fatal(err)
	}
	more, resumed = extended(more, resumed, 6)
	mustRun(t, more, stopAfter(resumed, 100))
	remove(t, filepath.Join(opt.Dir, storeName, "step-000006")) // as if killed
	mustRun(t, more, resumed)
	r := must.Get(ReadRecipe(opt.Dir))(t)
	if want := []Planned{{2, 2}, {3, 9}}; !slices.Equal(r.Train.Extended, want) {
		t.Errorf("parts %v, want %v", r.Train.Extended, want)
	}
	again := fresh(t, opt)
	mustRun(t, r.Train, again)
	same(t, again.Dir, opt.Dir)
}

// TestExtensionsRefused checks that a refused extension changes nothing.
func TestExtensionsRefused(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Updates = 4
	mustRun(t, cfg, opt)
	for _, c := range []struct {
		name    string
		updates int
		change  func(*Config)
		want    []string
	}{
		{"fewer than done", 3, nil, []string{"train.updates: 3,", "finished 4 of 4"}},
		{"another rate as well", 6, func(c *Config) { c.Rate = 0.5 }, []string{`"  rate: 0.02"`, `"  rate: 0.5"`}},
		{"fewer from labels", 6, func(c *Config) { c.Expert = 2 }, []string{"train.expert: 2,", "first 4 updates ran with 3"}},
		{"more from labels, after draws", 6, func(c *Config) { c.Expert = 6 }, []string{"train.expert: 6,"}},
	} {
		before := results(t, opt.Dir)
		more, resumed := extended(cfg, opt, c.updates)
		if c.change != nil {
			c.change(&more)
		}
		_, _, err := Run(t.Context(), more, resumed)
		if !errors.Is(err, recipe.ErrMismatch) {
			t.Fatalf("%s: error %v", c.name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want it to tell %q", c.name, err, want)
			}
		}
		for name, text := range results(t, opt.Dir) {
			if !bytes.Equal(before[name], text) {
				t.Errorf("%s: changed %s", c.name, name)
			}
		}
	}
	cfg.Extended = []Planned{{4, 3}}
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "train.extended[0]: until 4 of 3") {
		t.Errorf("a part beyond its plan: error %v", err)
	}
	text, err := os.ReadFile(filepath.Join(opt.Dir, recipe.Name))
	if err != nil || bytes.Contains(text, []byte("extended")) {
		t.Errorf("a run that was not extended records parts: %v\n%s", err, text)
	}
}
