//go:build unix

package learn_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
)

// cpu is the CPU time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRun is a training step, forward and backward, for 64 samples of 32 jobs.
func BenchmarkRun(b *testing.B) {
	const rows, window = 64, 32
	for _, servers := range []int{16, 32, 64} {
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			p := shaken(b, agents.DefaultSize(), window)
			s := samples(b, p, servers, 8, rows)
			m, err := learn.NewMachine[float32](p.Shape, rows, servers, window, 0.2)
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			grad := make([]float32, p.Params.Count())
			step := func() {
				if _, err := m.Run(p.Params, s, 1, 0, grad); err != nil {
					b.Fatal(err)
				}
			}
			step()
			start := cpu()
			for b.Loop() {
				step()
			}
			b.ReportMetric((cpu()-start).Seconds()*1e3/float64(b.N), "cpu-ms/op")
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
