package work

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
)

// BenchmarkSleepers measures what it costs to give out units: workers with connections of their own sleep for a second instead of
// computing. Efficiency is the time that they slept, divided by that of all workers from the first answer to the last.
func BenchmarkSleepers(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				benchSleepers(b, n)
			}
		})
	}
}

func benchSleepers(b *testing.B, n int) {
	const rounds, pauseTime = 10, time.Second
	broker := must.Get(StartBroker(BrokerOptions{Address: "127.0.0.1:0", Token: "a token of the test"}))(b)
	defer broker.Close()
	conn := must.Get(broker.Connect())(b)
	pool := must.Get(NewPool(b.Context(), PoolOptions{Conn: conn, Build: testBuild, Warn: func(err error) { b.Error(err) }}))(b)
	ends := make([]time.Time, n*rounds)
	if err := pool.Start([]byte("text"), func(unit int, _ []byte) (refused, failed error) {
		ends[unit] = time.Now()
		return nil, nil
	}); err != nil {
		b.Fatal(err)
	}
	ready := make(chan error, n)
	for i := range n {
		access := Access{URL: broker.URL(), Token: "a token of the test"}
		conn := must.Get(access.Connect(fmt.Sprint("sleeper-", i)))(b)
		w := &Worker{Conn: conn, Name: fmt.Sprint("sleeper-", i), Build: testBuild, Open: func(context.Context, []byte) (Compute, error) {
			ready <- nil
			return func(context.Context, int) ([]byte, error) { time.Sleep(pauseTime); return []byte("answer"), nil }, nil
		}}
		go w.Run(b.Context())
	}
	for range n {
		<-ready
	}
	before, began := cpu(b), time.Now()
	pool.Give(units(n * rounds)...)
	must.Do(b, pool.Wait(b.Context(), units(n*rounds)...))
	cost := cpu(b) - before
	pool.Close(true)
	last := slices.MaxFunc(ends, time.Time.Compare)
	b.ReportMetric(100*float64(n*rounds)*pauseTime.Seconds()/(float64(n)*last.Sub(began).Seconds()), "%efficient")
	b.ReportMetric(float64(cost.Microseconds())/float64(n*rounds), "cpu-us/unit")
}

// cpu returns the CPU time of this process.
func cpu(b *testing.B) time.Duration {
	var use syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
