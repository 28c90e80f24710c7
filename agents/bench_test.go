//go:build unix

package agents_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
)

// cpu returns the CPU time of the process, which is more reliable than wall-clock time on a shared machine.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure runs f once, so that memory has grown, and then as often as the benchmark asks for.
func measure(b *testing.B, f func()) {
	f()
	b.ReportAllocs()
	start := cpu()
	for b.Loop() {
		f()
	}
	b.ReportMetric((cpu()-start).Seconds()*1e3/float64(b.N), "cpu-ms/op")
}

// BenchmarkForward measures the network on random observations with 48 jobs and 8 candidates.
func BenchmarkForward(b *testing.B) {
	for _, servers := range []int{16, 64, 256, 1024, 4096} {
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			s, p := policy(b, agents.DefaultSize(), 1, 0.05)
			o, n := random(&s, servers, 48, 8, 1), agents.NewNet(s, p)
			measure(b, func() { n.Forward(&o) })
		})
	}
}
