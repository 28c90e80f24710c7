package scenario

import (
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/rng"
)

// longest is the time for which failures and inference demand are drawn at most. After it nothing fails and demand stays
// constant.
const longest = 400 * 24 * time.Hour

// until returns the time up to which failures and demand are drawn. This is the horizon if there is one. Otherwise it is the last
// arrival plus four times the least time that the cluster needs for the jobs.
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

// windowName returns the name of the i-th window of a split.
func windowName(split Split, i int) string { return string(split) + "-" + strconv.Itoa(i) }
