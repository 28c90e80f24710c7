package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/train"
)

// BenchmarkWorkers measures how many windows of embedded-small-v1 worker processes label in a second, each on one core, and the
// CPU time that a window costs them and the learner. The time counts from the first answer on, without the start of the workers.
func BenchmarkWorkers(b *testing.B) {
	for _, n := range []int{1, 2} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			b.Setenv(mainVariable, "1")
			for range b.N {
				benchWorkers(b, n)
			}
		})
	}
}

func benchWorkers(b *testing.B, n int) {
	s, err := scenario.Load("embedded-small-v1")
	if err != nil {
		b.Fatal(err)
	}
	cfg := train.DefaultConfig()
	cfg.Updates, cfg.Expert, cfg.Windows, cfg.Prior, cfg.Validation = 1, 1, 60, "srsf+menu+move", 1
	dir := filepath.Join(b.TempDir(), "run")
	a := app{App: cmdline.New(nil, b.Output(), b.Output())}
	pool, err := (&poolOptions{workers: n}).open(dir, &a, func(err error) { b.Error(err) }, nil)
	if err != nil {
		b.Fatal(err)
	}
	timed := &timedPool{labelPool: pool}
	before := cpuOf(b, syscall.RUSAGE_CHILDREN)
	if _, _, err := train.Run(b.Context(), cfg, train.Options{
		Dir: dir, Scenarios: []*scenario.Scenario{s}, Pool: timed, Workers: 1,
	}); err != nil {
		b.Fatal(err)
	}
	pool.close(true) // waits for the workers
	windows := float64(timed.status.Done)
	b.ReportMetric((windows-1)/timed.status.Seconds, "windows/s")
	b.ReportMetric(timed.learner.Seconds()*1000/windows, "learner-cpu-ms/window")
	b.ReportMetric((cpuOf(b, syscall.RUSAGE_CHILDREN)-before).Seconds()*1000/windows, "workers-cpu-ms/window")
}

// timedPool measures the CPU time of this process while it waits for labels.
type timedPool struct {
	*labelPool
	learner time.Duration
	status  work.Status
}

func (p *timedPool) Wait(ctx context.Context, units ...int) error {
	before := cpuOf(nil, syscall.RUSAGE_SELF)
	err := p.labelPool.Wait(ctx, units...)
	p.status = p.pool.Status()
	p.learner += cpuOf(nil, syscall.RUSAGE_SELF) - before
	return err
}

// cpuOf returns the CPU time of this process, or of its children that have ended.
func cpuOf(tb testing.TB, who int) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(who, &use); err != nil && tb != nil {
		tb.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
