package serve_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

var loadFor = flag.Duration("load", 2*time.Second, "how long BenchmarkHostileClients asks, once without and once with hostile requests")

const (
	loadClients = 64
	thinks      = 500 * time.Millisecond // of a client between two requests, on average
	hostileOne  = 100                    // one request in so many is hostile
)

// hostile are requests that do harm if a server lets them. Each returns when the server has answered or closed the connection, or
// when its context ends.
var hostile = map[string]func(context.Context, net.Conn){
	"a byte a second": func(ctx context.Context, c net.Conn) {
		fmt.Fprintf(c, "POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			if _, err := c.Write([]byte(" ")); err != nil {
				return
			}
		}
	},
	"a body beyond the limit": func(_ context.Context, c net.Conn) {
		fmt.Fprintf(c, "POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n{")
		_, _ = io.Copy(io.Discard, c)
	},
	"garbage of 1 MB": func(_ context.Context, c net.Conn) {
		body := strings.Repeat(`[{"jobs":`, 1<<20/9)
		fmt.Fprintf(c, "POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		_, _ = io.Copy(io.Discard, c)
	},
	"a client that leaves": func(_ context.Context, c net.Conn) {
		body := queue(10, 1000)
		fmt.Fprintf(c, "POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	},
	"no HTTP": func(_ context.Context, c net.Conn) {
		_, _ = c.Write([]byte("\x16\x03\x01\x00\xff\r\n\r\n"))
		_, _ = io.Copy(io.Discard, c)
	},
}

// load lets clients ask for a time. One request in hostileOne is hostile, or none. It returns how long the others took, from the
// first try to the plan, and the number of hostile ones. A request that the server is too busy for is sent again.
func (s *site) load(t testing.TB, d time.Duration, withHostile bool) (took []time.Duration, attacks int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var mu sync.Mutex
	var all, guests sync.WaitGroup
	names := []string{"a byte a second", "a body beyond the limit", "garbage of 1 MB", "a client that leaves", "no HTTP"}
	for client := range loadClients {
		all.Go(func() {
			draw := rand.New(rand.NewPCG(1, uint64(client)))
			for {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Duration(draw.Int64N(2 * int64(thinks)))):
				}
				if draw.IntN(hostileOne) == 0 && withHostile {
					mu.Lock()
					attack := hostile[names[attacks%len(names)]]
					attacks++
					mu.Unlock()
					guests.Go(func() { // its client asks on, as hostile connections do not wait for honest ones
						c, err := new(net.Dialer).DialContext(ctx, "tcp", s.web.Listener.Addr().String())
						if err != nil {
							return
						}
						defer context.AfterFunc(ctx, func() { _ = c.Close() })()
						defer func() { _ = c.Close() }()
						attack(ctx, c)
					})
					continue
				}
				began := time.Now()
				status, text := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot)
				for status == http.StatusTooManyRequests {
					time.Sleep(5 * time.Millisecond)
					status, text = s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot)
				}
				if status != http.StatusOK {
					t.Errorf("an honest request: %d %s", status, text)
				}
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	guests.Wait()
	slices.Sort(took)
	return took, attacks
}

// TestHostileClients checks that honest requests are answered while others are hostile.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	s := newSite(t, decidetest.Baseline("sjfskip"), nil)
	if took, attacks := s.load(t, 3*time.Second, true); len(took) < loadClients || attacks == 0 {
		t.Errorf("%d honest requests and %d hostile ones, want more", len(took), attacks)
	}
}

// BenchmarkHostileClients compares the 99th percentile of the times of honest requests with and without hostile ones.
func BenchmarkHostileClients(b *testing.B) {
	for b.Loop() {
		var p99 [2]time.Duration
		for i, with := range []bool{false, true} {
			s := newSite(b, decidetest.Baseline("sjfskip"), func(c *serve.Config) { c.Deadline = time.Second })
			took, attacks := s.load(b, *loadFor, with)
			p99[i] = took[len(took)*99/100]
			b.Logf("hostile %t: %d honest requests, %d hostile, p50 %v, p99 %v", with, len(took), attacks, took[len(took)/2], p99[i])
		}
		b.ReportMetric(float64(p99[0].Microseconds())/1000, "p99-ms")
		b.ReportMetric(float64(p99[1].Microseconds())/1000, "p99-hostile-ms")
		b.ReportMetric(float64(p99[1])/float64(p99[0]), "ratio")
	}
}
