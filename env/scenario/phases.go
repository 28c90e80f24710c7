package scenario

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/rng"
)

// Phases describes how jobs change their speed as they go: see sim.Phases. The zero value means that they do not.
type Phases struct {
	Every time.Duration `yaml:"every"`
}

func (f *Phases) validate() error {
	if f.Every != 0 && f.Every < time.Second {
		return fmt.Errorf("phases.every %v, want at least 1s, or 0 (jobs have no phases)", f.Every)
	}
	return nil
}

// slowest is the smallest factor of a job's speed in a phase.
const slowest = 0.4

// seeded returns the phases of an episode.
func (f *Phases) seeded(seed uint64) sim.Phases {
	if *f == (Phases{}) {
		return sim.Phases{}
	}
	return sim.Phases{Every: f.Every, Slowest: slowest, Seed: rng.Derive(seed, "scenario", "phases")}
}
