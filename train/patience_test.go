package train

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/train/recipe"
)

// TestEndsEarly checks which validations count.
func TestEndsEarly(t *testing.T) {
	for _, c := range []struct {
		name         string
		update, best int
		change       func(*Config)
		want         bool
	}{
		{"as many as allowed", 8, 2, nil, true},
		{"one fewer", 7, 2, nil, false},
		{"better weights in between", 8, 4, nil, false},
		{"never better than the prior", 6, 0, nil, true},
		{"no patience at all", 40, 0, func(c *Config) { c.Patience = 0 }, false},
		{"labels, before draws", 12, 0, func(c *Config) { c.Expert = 20 }, false},
		{"draws after labels", 26, 0, func(c *Config) { c.Expert = 20 }, true},
		{"draws after labels, too few", 25, 0, func(c *Config) { c.Expert = 20 }, false},
		{"a curriculum", 12, 0, func(c *Config) { c.Curriculum = []Stage{{Updates: 4}, {Updates: 4}} }, false},
		{"after a curriculum", 14, 0, func(c *Config) { c.Curriculum = []Stage{{Updates: 4}, {Updates: 4}} }, true},
		{"after an extension", 13, 0, func(c *Config) { c.Extended = []Planned{{Until: 9, Of: 12}} }, false},
		{"long after an extension", 14, 0, func(c *Config) { c.Extended = []Planned{{Until: 9, Of: 12}} }, true},
		{"before an extension", 8, 0, func(c *Config) { c.Extended = []Planned{{Until: 9, Of: 12}} }, true},
		{"the last update of a part counts", 5, 0, func(c *Config) { c.Extended = []Planned{{Until: 5, Of: 5}} }, false},
	} {
		cfg := DefaultConfig()
		cfg.Updates, cfg.Expert, cfg.Every, cfg.Patience = 40, 40, 2, 3
		if c.change != nil {
			c.change(&cfg)
		}
		if got := cfg.endsEarly(c.update, c.best); got != c.want {
			t.Errorf("%s: after update %d, best after %d: %v, want %v", c.name, c.update, c.best, got, c.want)
		}
	}
}

// impatient returns a run that learns too slowly for its patience: with this rate the team never departs from its prior.
func impatient(tb testing.TB) (Config, Options) {
	cfg, opt := tiny(tb)
	cfg.Updates, cfg.Expert, cfg.Every, cfg.Rate, cfg.Patience = 6, 6, 1, 1e-9, 2
	return cfg, opt
}

// TestPatienceEndsRuns checks that a run without progress ends early; that the first part of the run without patience has the same
// metrics; that resuming the run does nothing more; and that a run that was stopped in between ends at the same update, with the
// same bytes.
func TestPatienceEndsRuns(t *testing.T) {
	cfg, opt := impatient(t)
	policy := mustRun(t, cfg, opt)
	ended := updates(t, opt.Dir, 2)

	patient := fresh(t, opt)
	whole := cfg
	whole.Patience = 0
	mustRun(t, whole, patient)
	if all := updates(t, patient.Dir, 6); string(ended) != string(all[:len(ended)]) {
		t.Errorf("metrics\n%s\nwant the first lines of\n%s", ended, all)
	}

	resumed := opt
	resumed.Resume = true
	sameWeights(t, mustRun(t, cfg, resumed), policy)
	updates(t, opt.Dir, 2)

	other := fresh(t, opt)
	if _, stopped, err := Run(t.Context(), cfg, stopAfter(other, 1)); err != nil || !stopped {
		t.Fatalf("stopped %v, error %v", stopped, err)
	}
	other.Resume = true
	sameWeights(t, mustRun(t, cfg, other), policy)
	got, want := results(t, other.Dir), results(t, opt.Dir)
	for name, text := range want {
		if string(got[name]) != string(text) {
			t.Errorf("%s differs after an interruption", name)
		}
	}
}

// TestPatienceAfterAnExtension checks that an extended run makes as many validations more as its patience allows, and that a
// new run by its recipe equals it.
func TestPatienceAfterAnExtension(t *testing.T) {
	cfg, opt := impatient(t)
	mustRun(t, cfg, opt)
	more, resumed := extended(cfg, opt, 9)
	more.Expert = 9
	policy := mustRun(t, more, resumed)
	updates(t, opt.Dir, 4)
	r := must.Get(ReadRecipe(opt.Dir))(t)
	again := fresh(t, opt)
	sameWeights(t, mustRun(t, r.Train, again), policy)
	got, want := results(t, again.Dir), results(t, opt.Dir)
	for _, name := range []string{recipe.Name, metricsName, filepath.Join(storeName, "step-000004", "meta.json")} {
		if string(got[name]) != string(want[name]) {
			t.Errorf("%s differs:\n%s\nwant\n%s", name, got[name], want[name])
		}
	}
}

// TestPatienceNeedsValidation checks that a run that could never end early says so.
func TestPatienceNeedsValidation(t *testing.T) {
	cfg, opt := impatient(t)
	for i, s := range opt.Scenarios {
		var err error
		if opt.Scenarios[i], err = s.With("window.validation=[]"); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := Run(t.Context(), cfg, opt)
	want := "train: train.patience: 2, and no scenario has validation windows; want 0 without them"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// updates reads the metrics of a run, which must be of so many updates.
func updates(tb testing.TB, dir string, want int) []byte {
	tb.Helper()
	all, err := ReadMetrics(dir)
	if err != nil || len(all) != want {
		tb.Fatalf("%d updates, error %v, want %d", len(all), err, want)
	}
	text := must.Get(os.ReadFile(filepath.Join(dir, metricsName)))(tb)
	return text
}
