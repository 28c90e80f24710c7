package train

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents/export"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// TestTrainCosts checks that a team trained with costs sees them, that its bundle decides by the objective that it was trained for
// unless another is given, and that costs need an objective and an encoder that shows them.
func TestTrainCosts(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Costs, cfg.Objective, cfg.Updates, cfg.Expert = true, "small-first", 2, 1
	p := mustRun(t, cfg, opt)
	if !observe.ShowsCosts(p.Game().Encoder.Spec().Job) || p.Game().Objective.Name != "small-first" {
		t.Fatalf("the team sees %v by %v", p.Game().Encoder.Spec().Job, p.Game().Objective)
	}
	dir := filepath.Join(t.TempDir(), "policy")
	text := must.Get(objectives.Open("small-first"))(t).Text()
	must.Do(t, export.Save(dir, p, "now", checkpoints.Provenance{Objective: text}, nil))
	found := must.Get(new(policy.Finder).Load(dir))(t)
	if found.Learned.Digest() != p.Digest() || !found.Needs.Objective || found.Learned.Game().Objective.Name != "small-first" {
		t.Errorf("the bundle has another team, or decides by %v", found.Learned.Game().Objective)
	}
	own := *found.Learned
	if own.Given.Objective = objectives.Usual(); own.Game().Objective.Name != "completion" {
		t.Errorf("it decides by %s, want the one that it is given", own.Game().Objective.Name)
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.Objective = "flow" }, func(c *Config) { c.Encoder = "theirs" },
	} {
		c := cfg
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), "train.") {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}
