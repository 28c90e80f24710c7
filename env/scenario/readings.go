package scenario

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/sim"
)

// Readings describes how the throughput of running jobs is measured: see sim.Readings. The zero value measures nothing.
type Readings struct {
	Interval time.Duration `yaml:"interval"`
}

func (r *Readings) validate() error {
	if r.Interval != 0 && r.Interval < time.Second {
		return fmt.Errorf("readings.interval %v, want at least 1s, or 0 (nothing is measured)", r.Interval)
	}
	return nil
}

// noise is the standard deviation of the logarithm of a measurement's error.
const noise = 0.05

// seeded returns the readings of an episode.
func (r *Readings) seeded(seed uint64) sim.Readings {
	if *r == (Readings{}) {
		return sim.Readings{}
	}
	return sim.Readings{Interval: r.Interval, Noise: noise, Seed: seed}
}
