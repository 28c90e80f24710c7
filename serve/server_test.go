package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

// site is a server under test with its log.
type site struct {
	*serve.Server
	web *httptest.Server
	log *decidetest.Said
}

func newSite(t testing.TB, p *policy.Policy, change func(*serve.Config)) *site {
	t.Helper()
	s := &site{log: new(decidetest.Said)}
	c := serve.Config{Config: decide.Config{
		Source:   policy.Source{Load: func() (*policy.Policy, error) { return p, nil }},
		Fallback: func(*policy.Policy) (*policy.Policy, error) { return decidetest.Baseline("fifo"), nil },
		Seed:     1, Deadline: time.Minute, Parallel: 2,
		Log: slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}}
	if change != nil {
		change(&c)
	}
	s.Server = must.Get(serve.New(c))(t)
	s.web = httptest.NewServer(s.Handler())
	t.Cleanup(s.web.Close)
	return s
}

// ask sends a request and returns the status and the body of its answer.
func (s *site) ask(t testing.TB, method, path, body string, header ...string) (int, string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(context.Background(), method, s.web.URL+path, strings.NewReader(body)))(t)
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	res := must.Get(s.web.Client().Do(r))(t)
	defer res.Body.Close()
	text := must.Get(io.ReadAll(res.Body))(t)
	return res.StatusCode, string(text)
}

// decide asks for a plan, which must succeed.
func (s *site) decide(t testing.TB) decide.Answer {
	t.Helper()
	status, text := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot)
	var a decide.Answer
	if err := json.Unmarshal([]byte(text), &a); status != http.StatusOK || err != nil {
		t.Fatalf("status %d, %v:\n%s", status, err, text)
	}
	return a
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in\n%s", p, text)
		}
	}
}

func (s *site) metrics(t testing.TB) string {
	t.Helper()
	status, text := s.ask(t, http.MethodGet, "/metrics", "")
	if status != http.StatusOK {
		t.Fatalf("status %d:\n%s", status, text)
	}
	return text
}

func TestThePolicyDecides(t *testing.T) {
	s := newSite(t, decidetest.Baseline("sjfskip"), nil)
	a := s.decide(t)
	if len(a.Ops) != 1 || a.Ops[0].Job != "x<y" || a.Ops[0].Text == "" || len(a.Waiting) != 1 || a.Waiting[0].Job != "big" {
		t.Errorf("plan %+v", a.Plan)
	}
	if d := a.Decision; a.Policy != "sjfskip" || d.Policy != "sjfskip" || d.By != decide.ByPolicy || d.Fallback != nil || d.RequestID == "" {
		t.Errorf("decision %+v", d)
	}
	contains(t, s.metrics(t), `clustergym_decisions_total{by="policy"} 1`, `clustergym_fallbacks_total{reason="deadline"} 0`,
		"clustergym_decision_seconds_count 1", `clustergym_policy_info{digest="",policy="sjfskip"} 1`,
		`clustergym_http_requests_total{code="200",path="/v1/plan"} 1`)
	status, text := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot, "X-Request-Id", "mine-1")
	if status != http.StatusOK {
		t.Fatal(text)
	}
	contains(t, text, `"request_id": "mine-1"`, `x<y`)
	contains(t, s.log.String(), `"request_id":"mine-1"`, `"path":"/v1/plan"`, `"status":200`)
	status, text = s.ask(t, http.MethodGet, "/v1/policy", "")
	if status != http.StatusOK {
		t.Fatal(text)
	}
	contains(t, text, `"policy": "sjfskip"`, `"fallback": "fifo"`, `"deadline_s": 60`)
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, text := s.ask(t, http.MethodGet, path, ""); status != http.StatusOK || text != "ok\n" {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

func TestBadRequestsAreToldWhatWasExpected(t *testing.T) {
	s := newSite(t, decidetest.Baseline("sjfskip"), func(c *serve.Config) { c.MaxBody = int64(len(decidetest.Snapshot)) + 1 })
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     []string
		header                   []string
	}{
		{"a bad field", "POST", "/v1/plan", strings.Replace(decidetest.Snapshot, `"gpus":4`, `"gpus":-4`, 1), 400, []string{"servers[0].gpus: -4", "want a whole number"}, nil},
		{"no JSON", "POST", "/v1/plan", "hello", 400, []string{"line 1"}, nil},
		{"an empty body", "POST", "/v1/plan", "", 400, []string{"unexpected EOF"}, nil},
		{"an unknown field", "POST", "/v1/plan", `{"version":1,"now_s":0,"servers":[],"jobs":[],"x":1}`, 400, []string{"x: unknown field"}, nil},
		{"too large a body", "POST", "/v1/plan", decidetest.Snapshot + "  ", 413, []string{fmt.Sprintf("more than %d bytes", len(decidetest.Snapshot)+1)}, nil},
		{"a wrong method", "GET", "/v1/plan", "", 404, []string{"want POST /v1/plan"}, nil},
		{"a wrong path", "POST", "/v2/plan", "", 404, []string{"/v2/plan"}, nil},
		{"an unknown query", "POST", "/v1/plan?reasons=some", decidetest.Snapshot, 400, []string{`query "reasons=some", want reasons=none, learn=no, both or none`}, nil},
		{"another host", "GET", "/v1/policy", "", 403, []string{"evil.example"}, []string{"Host", "evil.example"}},
		{"a page of another site", "POST", "/v1/plan", decidetest.Snapshot, 403, []string{"another site"}, []string{"Origin", "http://evil.example"}},
	} {
		status, text := s.ask(t, c.method, c.path, c.body, c.header...)
		if status != c.status {
			t.Errorf("%s: status %d, want %d", c.name, status, c.status)
		}
		var p serve.Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || p.RequestID == "" {
			t.Errorf("%s: no JSON: %s", c.name, text)
		}
		contains(t, p.Error, c.want...)
	}
}

func TestTooManyRequestsAreRefused(t *testing.T) {
	hold, in := make(chan struct{}), make(chan struct{}, 1)
	s := newSite(t, decidetest.Script(func(*cluster.Txn) error { in <- struct{}{}; <-hold; return nil }).Policy(),
		func(c *serve.Config) { c.Parallel = 1 })
	var group sync.WaitGroup
	group.Go(func() {
		if status, text := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot); status != http.StatusOK {
			t.Errorf("the first: %d %s", status, text)
		}
	})
	<-in
	if status, text := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot); status != http.StatusTooManyRequests {
		t.Errorf("the second: %d %s", status, text)
	}
	close(hold)
	group.Wait()
}

// TestABurstWaits checks that requests beyond the slots are answered when a slot becomes free.
func TestABurstWaits(t *testing.T) {
	hold := make(chan struct{})
	s := newSite(t, decidetest.Script(func(*cluster.Txn) error { <-hold; return nil }).Policy(), func(c *serve.Config) { c.Parallel = 1 })
	s.StopClock()
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			if status, text := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot); status != http.StatusOK {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	for s.Waiting() < 4 {
		time.Sleep(time.Millisecond)
	}
	close(hold)
	group.Wait()
}

// TestPanicsStayInside checks that a panic outside of a scheduler does not reach the client either.
func TestPanicsStayInside(t *testing.T) {
	s := newSite(t, decidetest.Baseline("fifo"), nil)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/policy", nil)
	w := &bomb{ResponseRecorder: httptest.NewRecorder(), calls: 2}
	s.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "boom") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	contains(t, w.Body.String(), "internal error")
	contains(t, s.log.String(), `"panic":"boom"`, "server_test.go")
}

// bomb is a ResponseWriter that panics at a given call of Header.
type bomb struct {
	*httptest.ResponseRecorder
	calls int
}

func (b *bomb) Header() http.Header {
	if b.calls--; b.calls == 0 {
		panic("boom")
	}
	return b.ResponseRecorder.Header()
}

func FuzzPlanRequest(f *testing.F) {
	f.Add([]byte(decidetest.Snapshot))
	f.Add([]byte(`{"version":1,"now_s":0,"servers":[],"jobs":[]}`))
	f.Add([]byte(`{"version":1,"` + strings.Repeat("k", 300) + `":[0,0]}`))
	f.Add([]byte(`{"version":1,"now_s":0,"servers":[],"jobs":[` + strings.Repeat(`{"":0},`, 100) + `{}]}`))
	f.Add([]byte(decidetest.Snapshot[:200]))
	f.Add([]byte(strings.Replace(decidetest.Snapshot, `"estimate_s":60`, `"min_workers":1,"estimate_s":0`, 1)))
	s := newSite(f, decidetest.Baseline("sjfskip"), nil)
	h := s.Handler()
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/plan", bytes.NewReader(body))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusOK, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		default:
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("no JSON: %s", w.Body)
		}
	})
}
