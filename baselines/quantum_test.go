package baselines

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/env/sim"
	"pgregory.net/rapid"
)

// TestGain checks that a job is stopped only for one that is ahead by more than gain restarts. On one GPU with restarts of a
// minute, the second job stops the first, which shows how long a restart takes. At 8m20s the first job has 10m40s left: it is not
// stopped for one of 10m, but for one of 9m10s.
func TestGain(t *testing.T) {
	whole := func(name string, submit, work time.Duration) job {
		j := job{Work: work}
		j.Name, j.Submit, j.Workers, j.Estimate = name, submit, 1, work
		j.Request.GPUMilli = cluster.WholeGPU
		return j
	}
	cfg := sim.Config{Cluster: cluster.Uniform(1, 1), Restart: sim.Pause(time.Minute)}
	for _, test := range []struct {
		name  string
		gain  float64
		work  time.Duration
		stops bool
	}{
		{"srtf", 0, 10 * time.Minute, true},
		{"srtf", 1, 10 * time.Minute, false},
		{"srtf", 1, 9*time.Minute + 10*time.Second, true},
		{"srtf", 2, 9*time.Minute + 10*time.Second, false},
		{"srsf", 1, 10 * time.Minute, false},
		{"srsf", 1, 9*time.Minute + 10*time.Second, true},
	} {
		jobs := []job{whole("first", 0, 17*time.Minute), whole("second", 2*time.Minute, time.Minute), whole("third", 500*time.Second, test.work)}
		got := events(run(t, cfg, jobs, gaining(test.name, test.gain), 1))
		if stops := slices.Contains(got, "8m20s preempt 0"); stops != test.stops {
			t.Errorf("%s with gain %g: %s; want a stop at 8m20s: %v", test.name, test.gain, strings.Join(got, ", "), test.stops)
		}
	}
}

// TestStopsGain checks for orders with a gain, on random episodes, that every job that is stopped comes in the order,
// without the gain, after a job that starts and that is charged the gain.
func TestStopsGain(t *testing.T) {
	stops := 0
	for _, order := range []string{"srtf", "srsf", "las"} {
		t.Run(order, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := drawConfig(t)
				pause := time.Duration(rapid.SampledFrom([]int{0, 5, 40}).Draw(t, "restart")) * time.Second
				cfg.Restart = sim.Pause(pause)
				jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(1, 15).Draw(t, "jobs"))
				for i := range jobs {
					times := time.Duration(rapid.IntRange(1, 20).Draw(t, "times"))
					jobs[i].Work, jobs[i].Estimate = jobs[i].Work*times, jobs[i].Estimate*times
				}
				gain := rapid.IntRange(1, 4).Draw(t, "gain")
				p := gaining(order, float64(gain))
				run(t, cfg, jobs, gainful{p, time.Duration(gain), pause, &stops}, 1)
			})
		})
	}
	if stops == 0 {
		t.Error("no job was ever stopped")
	}
}

// gaining returns a preemptive order that stops a job only for one ahead of it by so many restarts. The highest level of las is of 10 s.
func gaining(order string, gain float64) *preemptive {
	p := &preemptive{name: order, quantum: quantum{gain: gain}, plan: plan{place: &placement.BestFit{}}}
	switch order {
	case "srtf":
		p.order = leftWith
	case "srsf":
		p.order = serviceLeft
	case "las":
		l := levels{doubling, 10 * time.Second}
		p.order, p.alarm = l.order, l.sinks
	}
	return p
}

// gainful returns an error if a job is stopped that no job which starts is ahead of by the gain.
type gainful struct {
	*preemptive
	gain  time.Duration
	pause time.Duration
	stops *int
}

func (g gainful) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	before := map[cluster.JobID][2]time.Duration{} // keys as they are, and charged with the gain
	for id := range cluster.JobID(s.Jobs()) {
		if s.Phase(id) != cluster.Pending && s.Phase(id) != cluster.Running {
			continue
		}
		plain, _ := g.order(s, id, 0)
		charged, _ := g.order(s, id, g.gain*g.pause)
		before[id] = [2]time.Duration{plain, charged}
	}
	if err := g.preemptive.Schedule(tx); err != nil || g.quantum.cost == 0 { // without a restart so far
		return err
	}
	for _, stopped := range tx.Ops() {
		if stopped.Kind != cluster.OpPreempt {
			continue
		}
		*g.stops++
		ahead := false
		for _, started := range tx.Ops() {
			ahead = ahead || started.Kind == cluster.OpPlace && before[started.Job][1] <= before[stopped.Job][0]
		}
		if !ahead {
			return fmt.Errorf("job %d is stopped at %v for no job that gains enough", stopped.Job, tx.Now())
		}
	}
	return nil
}
