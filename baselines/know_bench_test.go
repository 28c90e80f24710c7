package baselines_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/sim"
)

// BenchmarkKnow reports what beliefs add to the mean CPU time of a decision with about 1,000 jobs, of which those that run are
// measured a minute after they start: 300 decisions at which a job comes or goes, without the first. The policies play in turns.
// All figures are medians over the turns; the factor is that to the policy without beliefs in the same turn.
func BenchmarkKnow(b *testing.B) {
	cfg, jobs := contended(b, 100, 700)
	cfg.Readings = sim.Readings{Interval: time.Minute, Noise: 0.05, Seed: 1}
	names := []string{"srsf+menu+move", "srsf+menu+move+know", "srsf+menu+move+know:speed=fit"}
	figures := map[string][]float64{}
	for b.Loop() {
		plain := 0.0
		for _, name := range names {
			w := play(b, name, cfg, jobs, 300)
			n, per := float64(w.decisions-1), w.cpu*1e3
			if plain == 0 {
				plain = per / n
			}
			short := strings.TrimPrefix(name, "srsf+menu+move")
			for unit, v := range map[string]float64{
				"-ms": per / n, "-factor": per / n / plain, "-allocs": float64(w.allocations) / n,
				"-ms/hour": per / (w.ended - w.began).Hours(),
			} {
				figures[short+unit] = append(figures[short+unit], v)
			}
		}
	}
	for unit, all := range figures {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], unit)
	}
}
