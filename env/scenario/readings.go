package scenario

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/sim"
)

// Readings describes how the throughput of running jobs is measured: see sim.Readings. The zero value measures nothing.
type Readings struct {
	Interval time.Duration `yaml:"interval"`
	Noise    float64       `yaml:"noise"`
}

func (r *Readings) validate() error {
	switch {
	case *r == (Readings{}):
		return nil
	case r.Interval < time.Second:
		return fmt.Errorf("readings.interval %v, want at least 1s, or 0 without readings.noise (nothing is measured)", r.Interval)
	case !(r.Noise >= 0 && r.Noise <= 1):
		return fmt.Errorf("readings.noise %v, want 0 (readings are exact) to 1", r.Noise)
	}
	return nil
}

// seeded returns the readings of an episode.
func (r *Readings) seeded(seed uint64) sim.Readings {
	if *r == (Readings{}) {
		return sim.Readings{}
	}
	return sim.Readings{Interval: r.Interval, Noise: r.Noise, Seed: seed}
}
