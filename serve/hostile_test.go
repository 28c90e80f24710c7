package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

// post opens a connection and starts a request with a body of the given length, of which it sends only the first bytes.
func (s *site) post(t testing.TB, length int, first string) net.Conn {
	t.Helper()
	c := must.Get(new(net.Dialer).DialContext(t.Context(), "tcp", s.web.Listener.Addr().String()))(t)
	t.Cleanup(func() { _ = c.Close() })
	must.Get(fmt.Fprintf(c, "POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", length, first))(t)
	return c
}

// p99 sends the given number of requests and returns the 99th percentile of their times.
func (s *site) p99(t testing.TB, times int) time.Duration {
	t.Helper()
	all := make([]time.Duration, times)
	for i := range all {
		began := time.Now()
		if status, text := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot); status != http.StatusOK {
			t.Fatalf("request %d: %d %s", i, status, text)
		}
		all[i] = time.Since(began)
	}
	slices.Sort(all)
	return all[times*99/100]
}

// TestSlowClientsDoNotHoldUpOthers checks that clients that send one byte per second do not delay the answers to others. The time
// limit only distinguishes waiting from not waiting, because single requests are slow on a busy machine.
func TestSlowClientsDoNotHoldUpOthers(t *testing.T) {
	s := newSite(t, decidetest.Baseline("sjfskip"), nil)
	alone := s.p99(t, 100)
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 32 {
		c := s.post(t, len(decidetest.Snapshot), "{")
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Second):
					_, _ = c.Write([]byte(" ")) // the server may have closed the connection
				}
			}
		})
	}
	time.Sleep(200 * time.Millisecond) // until the server reads all of them
	beside := s.p99(t, 400)
	close(stop)
	group.Wait()
	t.Logf("p99 alone %v, beside 32 slow clients %v", alone, beside)
	if beside > 2*alone+100*time.Millisecond {
		t.Errorf("p99 %v, want at most twice the %v of one client alone", beside, alone)
	}
}

// TestSlowBodiesAreRefused checks that a body that arrives too slowly is refused.
func TestSlowBodiesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, decidetest.Baseline("sjfskip"), nil)
	c := s.post(t, 1000, "{")
	began := time.Now()
	res := must.Get(http.ReadResponse(bufio.NewReader(c), nil))(t)
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if took := time.Since(began); res.StatusCode != http.StatusRequestTimeout || took > 20*time.Second || !res.Close {
		t.Errorf("%s after %v", res.Status, took)
	}
	contains(t, string(text), "the body comes too slowly, want 65536 bytes a second after 5s")
}

// TestBodiesShareABoundedMemory checks that the memory of all bodies together is limited, and is released.
func TestBodiesShareABoundedMemory(t *testing.T) {
	t.Parallel()
	s := newSite(t, decidetest.Baseline("sjfskip"), func(c *serve.Config) { c.Parallel, c.MaxBody = 1, 1000 })
	var held []net.Conn
	hold := func() { held = append(held, s.post(t, 1000, strings.Repeat(" ", 999))) }
	until := func(want int, say string, before func()) {
		t.Helper()
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			before()
			status, text := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot)
			if status == want && strings.Contains(text, say) {
				return
			}
			if time.Since(began) > 10*time.Second {
				t.Fatalf("%d %s, want %d and %q", status, text, want, say)
			}
		}
	}
	// A body is refused while the plan that is asked for has its place, so each try sends one more.
	until(http.StatusTooManyRequests, "the bodies of other requests take all the memory", hold)
	for _, c := range held {
		_ = c.Close()
	}
	until(http.StatusOK, "x<y", func() {})
}

// queue returns a snapshot with many waiting jobs, all different.
func queue(servers, jobs int) string {
	var b strings.Builder
	b.WriteString(`{"version":1,"now_s":100,"servers":[`)
	for i := range servers {
		fmt.Fprintf(&b, `{"name":"s%d","gpus":8,"cpu_milli":64000,"mem_mib":500000},`, i)
	}
	b.WriteString(`{"name":"full","gpus":1,"cpu_milli":0,"mem_mib":0}],"jobs":[`)
	for i := range jobs {
		fmt.Fprintf(&b, `{"id":"job-%d","submit_s":%d,"workers":%d,"cpu_milli":%d,"estimate_s":60,"state":"pending"},`, i, i%100, 8*servers+2, i+1)
	}
	b.WriteString(`{"id":"last","submit_s":0,"workers":1,"estimate_s":60,"state":"pending"}]}`)
	return b.String()
}

// TestSlowReadersKeepNoSlot checks that a client that does not read its answer does not keep a slot.
func TestSlowReadersKeepNoSlot(t *testing.T) {
	s := newSite(t, decidetest.Baseline("fifo"), func(c *serve.Config) { c.Parallel = 1 })
	body := queue(1, 30_000)
	s.post(t, len(body), body) // the answer exceeds the buffers of a connection
	for s.running(t) == 0 {
		time.Sleep(time.Millisecond)
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		status, text := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot)
		if status == http.StatusOK {
			return
		}
		if status != http.StatusTooManyRequests || time.Since(began) > 20*time.Second {
			t.Fatalf("%d %s", status, text)
		}
	}
}

// running returns the number of decisions in progress according to the metrics.
func (s *site) running(t testing.TB) (n int) {
	t.Helper()
	for line := range strings.SplitSeq(s.metrics(t), "\n") {
		if _, err := fmt.Sscanf(line, "clustergym_decisions_running %d", &n); err == nil {
			return n
		}
	}
	t.Fatal("no metric of running decisions")
	return 0
}

func TestReasonsAreLeftOutIfNotWanted(t *testing.T) {
	s := newSite(t, decidetest.Baseline("sjfskip"), nil)
	status, text := s.ask(t, http.MethodPost, "/v1/plan?reasons=none", decidetest.Snapshot)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	contains(t, text, `"reasons": "none"`, `"op": "start"`, `"job": "x<y"`, `"job": "big"`, `"free_gpus_left": 0`)
	if strings.Contains(text, `"why"`) || strings.Contains(text, `"code"`) || strings.Contains(text, `"capacity"`) {
		t.Errorf("reasons in\n%s", text)
	}
	if _, text := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot); strings.Contains(text, `"reasons"`) || !strings.Contains(text, `"why"`) {
		t.Errorf("no reasons in\n%s", text)
	}
}

// TestReasonsThatTakeTooLongAreLeftOut checks that an answer contains the plan without reasons if these take too long.
func TestReasonsThatTakeTooLongAreLeftOut(t *testing.T) {
	s := newSite(t, decidetest.Baseline("fifo"), func(c *serve.Config) { c.Reasons = 200 * time.Millisecond })
	began := time.Now()
	status, text := s.ask(t, http.MethodPost, "/v1/plan", queue(2000, 10_000))
	var a decide.Answer
	if err := json.Unmarshal([]byte(text), &a); status != http.StatusOK || err != nil {
		t.Fatalf("%d %v %.200s", status, err, text)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if a.Decision.Reasons != decide.ReasonsLate || len(a.Ops)+len(a.Waiting) != 10_001 {
		t.Errorf("%+v, %d operations and %d waiting jobs", a.Decision, len(a.Ops), len(a.Waiting))
	}
}

// TestAClientThatLeavesIsNotDecidedFor checks that no reasons are found for a client that has gone, and that the log says so.
func TestAClientThatLeavesIsNotDecidedFor(t *testing.T) {
	hold, in := make(chan struct{}), make(chan struct{}, 1)
	s := newSite(t, decidetest.Script(func(*cluster.Txn) error { in <- struct{}{}; <-hold; return nil }).Policy(), nil)
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.web.URL+"/v1/plan", strings.NewReader(decidetest.Snapshot))
	must.Do(t, err)
	go func() { <-in; leave() }()
	if _, err := s.web.Client().Do(r); err == nil {
		t.Fatal("an answer")
	}
	time.Sleep(100 * time.Millisecond) // until the server notices it
	close(hold)
	for began := time.Now(); !strings.Contains(s.log.String(), `"status":499`); time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal(s.log)
		}
	}
	contains(t, s.log.String(), "context canceled")
}

func TestBodiesAreBoundedByDefault(t *testing.T) {
	s := newSite(t, decidetest.Baseline("fifo"), nil)
	if s.MaxBody != 16<<20 {
		t.Errorf("%d bytes, want 16 MiB", s.MaxBody)
	}
	if status, text := s.ask(t, http.MethodPost, "/v1/plan", strings.Repeat(" ", 17<<20)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", status, text)
	}
}

// TestBadRequestsDoNotFillTheLog checks that of many bad requests only some are logged, and that the others are counted.
func TestBadRequestsDoNotFillTheLog(t *testing.T) {
	s := newSite(t, decidetest.Baseline("sjfskip"), nil)
	for range 300 {
		if status, text := s.ask(t, http.MethodPost, "/v1/plan", "{"); status != http.StatusBadRequest {
			t.Fatalf("%d %s", status, text)
		}
	}
	s.decide(t)
	log := s.log.String()
	if refused := strings.Count(log, `"status":400`); refused < 10 || refused > 200 {
		t.Errorf("%d of 300 bad requests are logged", refused)
	}
	contains(t, log, `"status":200`)
	contains(t, s.metrics(t), `clustergym_http_requests_total{code="400",path="/v1/plan"} 300`)
}
