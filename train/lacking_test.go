package train

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/train/recipe"
)

// TestWhatOnlyTrainingUses checks that a program which lacks a run's objective, or a baseline that only training uses, opens the run's
// policy and refuses to go on training, and that it refuses both if it lacks what deciding uses.
func TestWhatOnlyTrainingUses(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Updates, cfg.Expert, cfg.Against, cfg.Validation = 1, 1, "las", 1
	want := mustRun(t, cfg, opt).Digest()
	path := filepath.Join(opt.Dir, recipe.Name)
	text := must.Get(os.ReadFile(path))(t)
	for _, c := range []struct {
		old, lacking, missing string
		decides               bool
	}{
		{"against: las", "against: las\n  objective: elsewhere", `train.objective: objective "elsewhere", want a YAML file`, true},
		{"against: las", "against: las\n  reward: p99:power=9", "train.objective replaces it", true},
		{"against: las", "against: index\n  objective: small-first", "train.against: index decides by completion times", true},
		{"prior: fifo,sjfskip", "prior: index,sjfskip\n  objective: small-first", "train.prior: index decides by completion times", true},
		{"against: las", "against: theirs", `train.against: policy "theirs"`, true},
		{"prior: fifo,sjfskip", "prior: theirs,sjfskip", `train.prior: policy "theirs"`, true},
		{"against: las", "against: las\n  candidates: 9\n  rivals: theirs", `policy "theirs": no such baseline`, false},
		{"against: las", "against: las\n  encoder: theirs", `encoder "theirs" is not part of this program`, false},
	} {
		lacks := strings.Replace(string(text), c.old, c.lacking, 1)
		if err := os.WriteFile(path, []byte(lacks), 0o666); err != nil || lacks == string(text) {
			t.Fatalf("%s is not in %s, error %v", c.old, text, err)
		}
		p, _, err := Open(opt.Dir, cfg.Table, nil)
		switch {
		case c.decides && err != nil:
			t.Errorf("%s: %v", c.lacking, err)
		case c.decides && p.Digest() != want:
			t.Errorf("%s: another policy", c.lacking)
		case !c.decides && (err == nil || !strings.Contains(err.Error(), c.missing)):
			t.Errorf("%s: error %v, want %q", c.lacking, err, c.missing)
		}
		if r, err := ReadRecipe(opt.Dir); err == nil {
			err = r.Train.Validate()
			if err == nil || !strings.Contains(err.Error(), c.missing) {
				t.Errorf("%s: training is valid, error %v, want %q", c.lacking, err, c.missing)
			}
		}
	}
}

// TestWhoNeedsEstimatesIsRefused checks that a run refuses baselines that need estimates where a scenario tells none, and that rivals
// see what the prior sees.
func TestWhoNeedsEstimatesIsRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) {}, "train.prior: sjfskip needs an estimate of every job's duration, and embedded-small-v1 tells none: want one " +
			"that needs none, such as sjfskip+know"},
		{func(c *Config) { c.Prior, c.Against = "las", "prior,srtf+know:time=told" }, "train.against: srtf+know:time=told needs"},
		{func(c *Config) { c.Prior, c.Candidates, c.Rivals = "las", 4, "fifo,srtf" }, "train.rivals: srtf needs"},
		{func(c *Config) { c.Prior, c.Candidates, c.Rivals = "sjfskip+know", 4, "fifo,srtf" }, ""},
	} {
		cfg, opt := tiny(t, "estimates.kind=none")
		cfg.Updates, cfg.Expert, cfg.Validation, cfg.Windows = 1, 1, 1, 1
		c.change(&cfg)
		_, _, err := Run(t.Context(), cfg, opt)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, rivals %s, against %s: error %v, want %q", cfg.Prior, cfg.Rivals, cfg.Against, err, c.want)
		}
	}
}
