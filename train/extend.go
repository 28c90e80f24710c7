package train

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/train/recipe"
)

// Planned is the part of a run before it was extended, or the part between two extensions. Resuming a run with another number of
// updates extends it. The learning rate and the entropy bonus fall over the updates planned at the time, so an extended run
// differs from one that began with as many updates; a new run with the same parts equals the extended one.
type Planned struct {
	Until int `yaml:"until"` // number of updates finished at the end of the part
	Of    int `yaml:"of"`    // Config.Updates during the part
}

// total returns the number of updates that was planned when the run made the given update.
func (c *Config) total(update int) int {
	for _, s := range c.Extended {
		if update <= s.Until {
			return s.Of
		}
	}
	return c.Updates
}

// checkExtended returns an error for the first part out of range.
func (c *Config) checkExtended() error {
	last := 0
	for i, s := range c.Extended {
		if s.Until <= last || s.Until > s.Of {
			return fmt.Errorf("train.extended[%d]: until %d of %d, want until above %d and at most of", i, s.Until, s.Of, last)
		}
		last = s.Until
	}
	return nil
}

// recorded returns the settings that the run's folder must record: for a run that is being extended, those before the extension.
// It adopts the parts of a resumed run. before is the recipe in the run's folder, nil if there is none.
func (r *run) recorded(before *Recipe) *Config {
	was := r.cfg
	if !r.opt.Resume || before == nil {
		return &was
	}
	if len(r.cfg.Extended) == 0 {
		r.cfg.Extended = before.Train.Extended
	}
	if was.Extended = r.cfg.Extended; was.Updates != before.Train.Updates {
		was.Updates, was.Expert = before.Train.Updates, before.Train.Expert
	}
	return &was
}

// extend records an extension of the run, whose settings were as given. It returns an error if the run has finished as many
// updates, or if they would have learned in another way.
func (r *run) extend(was *Config) error {
	c := &r.cfg
	if c.Updates == was.Updates {
		return nil
	}
	if c.Updates <= r.update {
		return fmt.Errorf("%s: %w: train.updates: %d, and the run has finished %d of %d, want more than it has finished",
			r.opt.Dir, recipe.ErrMismatch, c.Updates, r.update, was.Updates)
	}
	if min(c.Expert, r.update) != min(was.Expert, r.update) {
		return fmt.Errorf("%s: %w: train.expert: %d, and the first %d updates ran with %d",
			r.opt.Dir, recipe.ErrMismatch, c.Expert, r.update, was.Expert)
	}
	c.Extended = slices.Clone(c.Extended)
	if n := len(c.Extended); r.update > 0 && (n == 0 || c.Extended[n-1].Until < r.update) {
		c.Extended = append(c.Extended, Planned{Until: r.update, Of: was.Updates})
	}
	return r.files.replan(c)
}
