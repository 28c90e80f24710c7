package baselines_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
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
				sched, err := baselines.New(name)
				if err != nil {
					b.Fatal(err)
				}
				s, err := sim.New(cfg, jobs)
				if err != nil {
					b.Fatal(err)
				}
				w := &watched{Scheduler: sched, most: 300}
				if err := s.Run(context.Background(), w, 1); !errors.Is(err, errEnough) {
					b.Fatal(err)
				}
				n := float64(w.decisions - 1)
				b.ReportMetric(w.rest.Seconds()*1e3/n, "ms/decision")
				b.ReportMetric(float64(w.allocated)/n/1024, "KiB/decision")
				b.ReportMetric(float64(len(s.State().Running())+w.waiting), "jobs")
			}
		})
	}
}
