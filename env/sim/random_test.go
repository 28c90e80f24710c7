package sim_test

import (
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// drawScheduler draws a baseline or chaos.
func drawScheduler(t *rapid.T) func() cluster.Scheduler {
	makers := []func() cluster.Scheduler{func() cluster.Scheduler { return &simtest.Chaos{} }}
	// Fast baselines that use different operations; package baselines tests all of them.
	for _, name := range []string{"fifo", "sjfskip", "sjfhold", "srtf", "srsf", "las", "random", "lucid", "lyra"} {
		makers = append(makers, func() cluster.Scheduler {
			return must.Get(baselines.New(name))(t)
		})
	}
	i := rapid.IntRange(-len(makers), len(makers)-1).Draw(t, "scheduler")
	return makers[max(i, 0)]
}

func play(t rapid.TB, cfg sim.Config, jobs []trace.Job, sched cluster.Scheduler, seed uint64) *sim.Log {
	t.Helper()
	return playEpisode(t, sim.Episode{Config: cfg, Jobs: jobs}, sched, seed)
}

func playEpisode(t rapid.TB, e sim.Episode, sched cluster.Scheduler, seed uint64) *sim.Log {
	t.Helper()
	return simtest.Play(t, &e, sched, seed)
}
