//go:build unix

package envtest_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// cpu returns the CPU time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkStep plays 64 servers of 8 GPUs under more load than they can serve, so that the window of 48 jobs is full.
func BenchmarkStep(b *testing.B) {
	speed, err := envtest.Bench(generated(64, 3000, func(c *env.Config) {
		under("sjfskip")(c)
		c.Game.Encoder = &observe.Standard{Window: 48}
		jobs := c.Jobs
		c.Jobs = func(seed uint64) ([]trace.Job, error) {
			all, err := jobs(seed)
			for i := range all {
				all[i].Submit /= 3
			}
			return all, err
		}
	}), 1, b.N, cpu)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(speed.StepsPerCPU, "steps/cpu-s")
	b.ReportMetric(speed.StepsPerCPU*float64(speed.AgentDecisions)/float64(speed.Steps), "decisions/cpu-s")
	b.ReportMetric(speed.JobsMean, "jobs-shown")
	b.ReportMetric(speed.ChoicesMean, "candidates")
	b.ReportMetric(speed.LegalMean, "legal-actions")
	b.ReportMetric(speed.PendingMean, "pending-jobs")
	b.ReportMetric(0, "ns/op") // would include the policy and the first pass
}

// TestBench checks that Bench replays the record of its first pass, so that its numbers are those of the requested steps.
func TestBench(t *testing.T) {
	ticks := time.Duration(0)
	speed := must.Get(envtest.Bench(generated(4, 60, nil), 1, 300, func() time.Duration { ticks += time.Second; return ticks }))(t)
	n := float64(speed.Episodes)
	if speed.Steps != 300 || speed.AgentDecisions != 1200 || n < 2 || speed.StepCPU != n || speed.ResetCPU != n ||
		speed.StepsPerCPU != 300/n {
		t.Errorf("%+v", speed)
	}
	if _, err := envtest.Bench(generated(4, 60, nil), 1, 0, cpu); err == nil {
		t.Error("no error for 0 steps")
	}
}
