package baselines_test

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/sim"
)

// BenchmarkKnow reports what beliefs add to the mean cost of a decision with about 1,000 jobs, of which those that run are
// measured a minute after they start: 300 decisions at which a job comes or goes, without the first.
func BenchmarkKnow(b *testing.B) {
	cfg, jobs := contended(b, 100, 700)
	cfg.Readings = sim.Readings{Interval: time.Minute, Noise: 0.05, Seed: 1}
	for _, name := range []string{"srsf+menu+move", "srsf+menu+move+know", "srsf+menu+move+know:speed=fit"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				decide(b, name, cfg, jobs, 300)
			}
		})
	}
}
