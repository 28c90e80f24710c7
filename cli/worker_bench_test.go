package cli

import (
	"context"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/units"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/train"
)

// BenchmarkWorkers measures how many windows worker processes label in a second, each on one core, and the CPU time that a window
// costs workers and learner, or a process that labels alone (0 workers). The rate counts from the first answer on, without the
// start of the workers.
func BenchmarkWorkers(b *testing.B) {
	b.Setenv(mainVariable, "1")
	b.Run("0", func(b *testing.B) {
		for range b.N {
			dir, labels := filepath.Join(b.TempDir(), "run"), filepath.Join(b.TempDir(), "labels")
			all := benchTrain(b, dir, labels, nil)
			rest := benchTrain(b, dir+"-again", labels, nil) // with the labels of the first run
			b.ReportMetric((all-rest).Seconds()*1000/benchWindows, "cpu-ms/window")
		}
	})
	for _, n := range []int{1, 2} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for range b.N {
				benchWorkers(b, n)
			}
		})
	}
}

const benchWindows = 24

// benchTrain trains for one update, whose windows cost about half a second each, and returns the CPU time of this process.
func benchTrain(b *testing.B, dir, labels string, pool units.Pool) time.Duration {
	b.Helper()
	s, err := scenario.Load("embedded-small-v1", "window.arrivals=300")
	require.Do(b, err)
	cfg := train.DefaultConfig()
	cfg.Updates, cfg.Expert, cfg.Windows, cfg.Prior, cfg.Validation, cfg.Label = 1, 1, benchWindows, "srsf+menu+move", 1, 1
	before := cpuOf(b, syscall.RUSAGE_SELF)
	_, _, err = train.Run(b.Context(), cfg, train.Options{
		Dir: dir, Labels: labels, Scenarios: []*scenario.Scenario{s}, Pool: pool, Workers: 1,
	})
	require.Do(b, err)
	return cpuOf(b, syscall.RUSAGE_SELF) - before
}

func benchWorkers(b *testing.B, n int) {
	dir := filepath.Join(b.TempDir(), "run")
	a := app{App: cmdline.New(nil, b.Output(), b.Output())}
	pool, err := (&poolOptions{Workers: n, brokerOptions: brokerOptions{Queue: work.DefaultQueue}}).open(b.Context(), dir, &a, func(err error) { b.Error(err) }, nil)
	require.Do(b, err)
	timed := &timedPool{Pool: pool.of(trainJob), pool: pool}
	before := cpuOf(b, syscall.RUSAGE_CHILDREN)
	benchTrain(b, dir, "", timed)
	pool.close(true) // waits for the workers
	b.ReportMetric((benchWindows-1)/timed.status.Seconds, "windows/s")
	b.ReportMetric(timed.learner.Seconds()*1000/benchWindows, "learner-cpu-ms/window")
	b.ReportMetric((cpuOf(b, syscall.RUSAGE_CHILDREN)-before).Seconds()*1000/benchWindows, "workers-cpu-ms/window")
}

// timedPool measures the CPU time of this process while it waits for labels.
type timedPool struct {
	units.Pool
	pool    *workerPool
	learner time.Duration
	status  work.Status
}

func (p *timedPool) Wait(ctx context.Context, units ...int) error {
	before := cpuOf(nil, syscall.RUSAGE_SELF)
	err := p.Pool.Wait(ctx, units...)
	p.status = p.pool.pool.Status()
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
