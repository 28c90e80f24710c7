package train

import (
	"math"
	"testing"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/must"
)

// logOf plays an episode and returns its log.
func logOf(t *testing.T, s cluster.Scheduler, episode sim.Episode) *sim.Log {
	t.Helper()
	run := must.Get(episode.New())(t)
	must.Do(t, run.Run(t.Context(), s, 0))
	return run.Log()
}

// TestComparedByTheJobsThatEvalMeasures checks that policies are compared by the completion times that eval reports, without those
// of the jobs that fill the cluster before the window.
func TestComparedByTheJobsThatEvalMeasures(t *testing.T) {
	for _, warm := range []int{0, 20} {
		cfg := DefaultConfig()
		g := must.Get(cfg.goal())(t)
		episode := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(2, 4), Warm: warm}, Jobs: mixed(60, 3)}
		var curves [2]*curve
		var means [2]float64
		for i, name := range []string{"fifo", "sjfskip"} {
			s, err := all.New(name)
			must.Do(t, err)
			curves[i] = must.Get(g.follow(s, episode))(t)
			means[i] = eval.Measure(logOf(t, s, episode)).MeanJCT
		}
		if got, want := curves[1].figure/curves[0].figure, means[1]/means[0]; math.Abs(got-want) > 1e-9 || want == 1 {
			t.Errorf("%d warm jobs: compared by %v, eval by %v", warm, got, want)
		}
	}
}
