//go:build unix

package agents_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env"
)

// cpu is the CPU time that the process has used: on a machine that others use too it says more than the clock.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure runs f once, so that memory has grown, and then as often as the benchmark wants.
func measure(b *testing.B, f func()) {
	f()
	b.ReportAllocs()
	start := cpu()
	for b.Loop() {
		f()
	}
	b.ReportMetric((cpu()-start).Seconds()*1e3/float64(b.N), "cpu-ms/op")
}

func policyOf(b *testing.B) *agents.Policy {
	b.Helper()
	p, err := agents.NewPolicy("learned", agents.DefaultSize(), 32, nil, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		b.Fatal(err)
	}
	shake(p, 1, 0.05)
	return p
}

// BenchmarkDecide is one round of a contended cluster: observing, the network, decoding.
func BenchmarkDecide(b *testing.B) {
	for _, servers := range []int{16, 64, 256, 1024} {
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			p := policyOf(b)
			e, ts := busy(b, p, servers, 30*servers, min(10*servers, 3000))
			spec, encoder := e.Spec(), p.Encoder()
			encoder.Spec(servers)
			d := agents.NewDecoder(spec, 0, agents.NewNet(p.Shape, p.Params))
			joint := make([]env.Action, servers)
			measure(b, func() {
				encoder.Encode(ts.State, ts)
				d.Round(ts, nil, joint, nil)
			})
		})
	}
}

// BenchmarkForward is the network alone, on random numbers and with all servers able to act: the most it has to do.
func BenchmarkForward(b *testing.B) {
	for _, servers := range []int{16, 64, 256, 1024, 4096} {
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			p := policyOf(b)
			o, n := random(&p.Shape, servers, 32, 1), agents.NewNet(p.Shape, p.Params)
			measure(b, func() { n.Forward(&o) })
		})
	}
}
