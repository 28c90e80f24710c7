package scenario

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/rng"
)

// Phases describes how jobs change their speed as they go: see sim.Phases. The zero value means that they do not.
type Phases struct {
	Every   time.Duration `yaml:"every"`
	Slowest float64       `yaml:"slowest"`
}

func (f *Phases) validate() error {
	switch {
	case *f == (Phases{}):
		return nil
	case f.Every < time.Second:
		return fmt.Errorf("phases.every %v, want at least 1s, or 0 without phases.slowest (jobs have no phases)", f.Every)
	case !(f.Slowest > 0 && f.Slowest <= 1):
		return fmt.Errorf("phases.slowest %v, want above 0 and at most 1", f.Slowest)
	}
	return nil
}

// seeded returns the phases of an episode.
func (f *Phases) seeded(seed uint64) sim.Phases {
	if *f == (Phases{}) {
		return sim.Phases{}
	}
	return sim.Phases{Every: f.Every, Slowest: f.Slowest, Seed: rng.Derive(seed, "scenario", "phases")}
}
