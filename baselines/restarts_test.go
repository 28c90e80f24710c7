package baselines

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestRestartsAreBounded checks that no preemptive order restarts a job again and again: with any estimates, right or wrong by any
// factor, and whatever a restart costs, up to all that the job has done, every job ends, after few starts.
func TestRestartsAreBounded(t *testing.T) {
	for _, name := range []string{
		"srtf", "srsf", "las", "las:levels=single:quantum=0", "gittins:least=1", "synergy", "srsf+menu", "srsf+move",
		"srsf:quantum=2+move", "gittins:least=1:quantum=4", "synergy+know", "serverfilling", "serverfilling+know", "serverfilling+menu+move+know:time=history",
		"srtf+know", "srsf+know:time=history", "srsf+menu+move+know:by=gittins", "gittins:least=1+know", "sjfskip+know",
		"srsf:evict=true", "srsf:evict=true+menu:places=8:idle=true+move+know", "las:evict=true:place=compact"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { boundedRestarts(t, name) })
		})
	}
}

func boundedRestarts(t *rapid.T, name string) {
	cost := rapid.SampledFrom([]time.Duration{0, time.Minute, 30 * time.Minute, 5 * time.Hour}).Draw(t, "pause")
	cfg := sim.Config{Cluster: cluster.Uniform(rapid.IntRange(1, 3).Draw(t, "servers"), 4), Restart: sim.Pause(cost)}
	if rapid.Bool().Draw(t, "slow on several servers") {
		cfg.Physics = physics.Compose(physics.InterServer{Penalty: 4})
	}
	cfg.Restart.FromScratch = rapid.Bool().Draw(t, "from scratch")
	jobs := make([]job, rapid.IntRange(1, 8).Draw(t, "jobs"))
	all := time.Duration(0)
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.Submit, j.Work = fmt.Sprint(i), simtest.Seconds(t, "submit", 0, 3000), simtest.Seconds(t, "work", 1, 20_000)
		j.Estimate = simtest.Seconds(t, "estimate", 1, rapid.SampledFrom([]int{10, 20_000}).Draw(t, "longest estimate"))
		j.Request.GPUMilli, j.Workers = cluster.WholeGPU, int32(rapid.IntRange(1, 4*len(cfg.Cluster.Servers)).Draw(t, "workers"))
		all += j.Work
	}
	cfg.Horizon = 20 * (all + time.Duration(len(jobs))*cost + time.Hour)
	s := must.Get(sim.New(cfg, jobs))(t)
	sched := must.Get(tested().New(name))(t)
	must.Do(t, s.Run(context.Background(), sched, 1))
	if !s.Outcome().Terminated {
		t.Fatalf("%s: %v", name, s.Outcome())
	}
	most := 4*len(jobs) + 16
	if strings.Contains(name, KnowSuffix) {
		most += 2 * belief.Bins // predictions change when a job passes the edge of a bin
	}
	for i := range jobs {
		if n := s.State().Starts(cluster.JobID(i)); n > most {
			t.Fatalf("%s: job %d of %d started %d times", name, i, len(jobs), n)
		}
	}
}
