package scenario

import (
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/rng"
)

// longest bounds what is drawn in advance of an episode: later nothing fails, and inference demand stays as it is.
const longest = 400 * 24 * time.Hour

// until is how long failures and demand are drawn for: to the horizon, or four times as long as the jobs need at least, from the
// last arrival on.
func (s *Source) until(jobs []trace.Job) time.Duration {
	if h := s.scenario.Horizon; h > 0 {
		return min(h, longest)
	}
	var last, most time.Duration
	asked := 0.0 // GPU-seconds
	for i := range jobs {
		j := &jobs[i]
		last, most = max(last, j.Submit), max(most, j.Work)
		asked += j.GPUs() * j.Work.Seconds()
	}
	passes := min(asked/float64(s.scenario.Cluster.GPUs()), longest.Seconds())
	least := max(most, time.Duration(passes*float64(time.Second)))
	return min(last+4*min(least, longest), longest)
}

// outages draws the failures of an episode.
func (s *Source) outages(name string, seed uint64, until time.Duration) []sim.Outage {
	f := &s.scenario.Failures
	if *f == (sim.Failures{}) {
		return nil
	}
	return f.Draw(&s.config.Cluster, until, rng.Stream(seed, "scenario", "failures", name))
}

// windowName names a window.
func windowName(split Split, i int) string { return string(split) + "-" + strconv.Itoa(i) }
