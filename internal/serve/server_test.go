package serve_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/serve"
)

// snapshot is two servers of four GPUs on which one job runs and two wait.
const snapshot = `{"version":1,"now_s":100,
"servers":[{"name":"a","gpus":4,"cpu_milli":null,"mem_mib":null},{"name":"b","gpus":4,"cpu_milli":null,"mem_mib":null}],
"jobs":[{"id":"r","submit_s":0,"workers":2,"estimate_s":500,"state":"running","placement":[{"server":"a","workers":2,"gpus":[0,1]}]},
{"id":"x<y","submit_s":10,"workers":2,"estimate_s":60,"state":"pending"},
{"id":"big","submit_s":20,"workers":8,"estimate_s":600,"state":"pending"}]}`

// baseline is a baseline as a policy.
func baseline(name string) *serve.Policy {
	return &serve.Policy{Name: name, New: func() (cluster.Scheduler, error) { return baselines.New(name) }}
}

// scripted is a scheduler that does what a test says.
type scripted func(*cluster.Txn) error

func (scripted) Name() string                     { return "scripted" }
func (scripted) Reset(uint64) error               { return nil }
func (f scripted) Schedule(tx *cluster.Txn) error { return f(tx) }
func (f scripted) policy() *serve.Policy {
	return &serve.Policy{Name: "scripted", Digest: "d1", New: func() (cluster.Scheduler, error) { return f, nil }}
}

// said collects a log.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// site is a server under test.
type site struct {
	*serve.Server
	web *httptest.Server
	log *said
}

func newSite(t testing.TB, p *serve.Policy, change func(*serve.Config)) *site {
	t.Helper()
	s := &site{log: new(said)}
	c := serve.Config{
		Source:   serve.Source{Load: func() (*serve.Policy, error) { return p, nil }},
		Fallback: func(*serve.Policy) (*serve.Policy, error) { return baseline("fifo"), nil },
		Seed:     1, Deadline: time.Minute, Parallel: 2,
		Log: slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&c)
	}
	var err error
	if s.Server, err = serve.New(c); err != nil {
		t.Fatal(err)
	}
	s.web = httptest.NewServer(s.Handler())
	t.Cleanup(s.web.Close)
	return s
}

// ask makes a request and returns its status and answer.
func (s *site) ask(t testing.TB, method, path, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, s.web.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	res, err := s.web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// decide asks for a plan that there has to be.
func (s *site) decide(t testing.TB) serve.Answer {
	t.Helper()
	status, text := s.ask(t, http.MethodPost, "/v1/plan", snapshot)
	var a serve.Answer
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
	s := newSite(t, baseline("sjfskip"), nil)
	a := s.decide(t)
	if len(a.Ops) != 1 || a.Ops[0].Job != "x<y" || a.Ops[0].Text == "" || len(a.Waiting) != 1 || a.Waiting[0].Job != "big" {
		t.Errorf("plan %+v", a.Plan)
	}
	if d := a.Decision; a.Policy != "sjfskip" || d.Policy != "sjfskip" || d.By != serve.ByPolicy || d.Fallback != nil || d.RequestID == "" {
		t.Errorf("decision %+v", d)
	}
	contains(t, s.metrics(t), `clustergym_decisions_total{by="policy"} 1`, `clustergym_fallbacks_total{reason="deadline"} 0`,
		"clustergym_decision_seconds_count 1", `clustergym_policy_info{digest="",policy="sjfskip"} 1`,
		`clustergym_http_requests_total{code="200",path="/v1/plan"} 1`)
	status, text := s.ask(t, http.MethodPost, "/v1/plan", snapshot, "X-Request-Id", "mine-1")
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
	s := newSite(t, baseline("sjfskip"), func(c *serve.Config) { c.MaxBody = int64(len(snapshot)) + 1 })
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     []string
		header                   []string
	}{
		{"a bad field", "POST", "/v1/plan", strings.Replace(snapshot, `"gpus":4`, `"gpus":-4`, 1), 400, []string{"servers[0].gpus: -4", "want a whole number"}, nil},
		{"no JSON", "POST", "/v1/plan", "hello", 400, []string{"line 1"}, nil},
		{"an empty body", "POST", "/v1/plan", "", 400, []string{"unexpected EOF"}, nil},
		{"an unknown field", "POST", "/v1/plan", `{"version":1,"now_s":0,"servers":[],"jobs":[],"x":1}`, 400, []string{"x: unknown field"}, nil},
		{"too large a body", "POST", "/v1/plan", snapshot + "  ", 413, []string{fmt.Sprintf("more than %d bytes", len(snapshot)+1)}, nil},
		{"a wrong method", "GET", "/v1/plan", "", 404, []string{"want POST /v1/plan"}, nil},
		{"a wrong path", "POST", "/v2/plan", "", 404, []string{"/v2/plan"}, nil},
		{"another host", "GET", "/v1/policy", "", 403, []string{"evil.example"}, []string{"Host", "evil.example"}},
		{"a page of another site", "POST", "/v1/plan", snapshot, 403, []string{"another site"}, []string{"Origin", "http://evil.example"}},
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

func TestTheFallbackDecidesWhenThePolicyDoesNot(t *testing.T) {
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	for _, c := range []struct {
		reason string
		policy scripted
		why    string
	}{
		{serve.ReasonDeadline, func(*cluster.Txn) error { <-hold; return nil }, "no decision within 20ms"},
		{serve.ReasonError, func(*cluster.Txn) error { return errors.New("no idea") }, "no idea"},
		{serve.ReasonPanic, func(*cluster.Txn) error { panic("index out of range") }, "index out of range"},
	} {
		s := newSite(t, c.policy.policy(), func(c *serve.Config) { c.Deadline = 20 * time.Millisecond })
		a := s.decide(t)
		d := a.Decision
		if d.By != serve.ByFallback || d.Policy != "scripted" || d.Digest != "d1" || d.Fallback.Policy != "fifo" || a.Policy != "fifo" ||
			d.Fallback.Reason != c.reason || !strings.Contains(d.Fallback.Why, c.why) || len(a.Ops) != 1 {
			t.Errorf("%s: %+v %+v", c.reason, d, d.Fallback)
		}
		contains(t, s.metrics(t), `clustergym_decisions_total{by="fallback"} 1`, `clustergym_fallbacks_total{reason="`+c.reason+`"} 1`)
		contains(t, s.log.String(), `"msg":"policy did not decide"`, `"reason":"`+c.reason+`"`)
	}
}

// A policy that hangs is asked no more than so often; once it lets go it is asked again. What it then says is dropped, though it
// writes to the state that it was given.
func TestLateDecisionsAreBounded(t *testing.T) {
	hold, gone := make(chan struct{}), make(chan struct{}, 8)
	var once sync.Once
	release := func() { once.Do(func() { close(hold) }) }
	t.Cleanup(release)
	s := newSite(t, scripted(func(tx *cluster.Txn) error {
		<-hold
		for _, id := range tx.State().Pending() {
			if p, ok := tx.State().BestFit(id, nil); ok {
				return tx.Place(id, p)
			}
		}
		gone <- struct{}{}
		return nil
	}).policy(), func(c *serve.Config) { c.Deadline = 200 * time.Millisecond })
	for i, want := range []string{serve.ReasonDeadline, serve.ReasonDeadline, serve.ReasonBusy} {
		if got := s.decide(t).Decision.Fallback; got == nil || got.Reason != want {
			t.Fatalf("request %d: %+v, want %s", i, got, want)
		}
	}
	contains(t, s.metrics(t), "clustergym_late_decisions 2")
	release()
	for !strings.Contains(s.metrics(t), "clustergym_late_decisions 0") {
		time.Sleep(time.Millisecond)
	}
	if a := s.decide(t); a.Decision.By != serve.ByPolicy {
		t.Errorf("after it let go: %+v", a.Decision)
	}
}

func TestNobodyDecides(t *testing.T) {
	broken := func(*cluster.Txn) error { panic("broken") }
	needy := func(*cluster.Txn) error { return errors.New("job x has no estimate") }
	for _, c := range []struct {
		name     string
		policy   scripted
		fallback scripted
		status   int
		want     []string
	}{
		{"both say why", needy, needy, http.StatusUnprocessableEntity, []string{"no estimate"}},
		{"one breaks", broken, needy, http.StatusServiceUnavailable, []string{"broken", "no estimate"}},
	} {
		s := newSite(t, c.policy.policy(), func(config *serve.Config) {
			config.Fallback = func(*serve.Policy) (*serve.Policy, error) { return c.fallback.policy(), nil }
		})
		status, text := s.ask(t, http.MethodPost, "/v1/plan", snapshot)
		if status != c.status {
			t.Errorf("%s: status %d", c.name, status)
		}
		contains(t, text, c.want...)
		contains(t, s.metrics(t), "clustergym_undecided_total 1")
	}
}

func TestTooManyRequestsAreRefused(t *testing.T) {
	hold, in := make(chan struct{}), make(chan struct{}, 1)
	s := newSite(t, scripted(func(*cluster.Txn) error { in <- struct{}{}; <-hold; return nil }).policy(),
		func(c *serve.Config) { c.Parallel = 1 })
	var group sync.WaitGroup
	group.Go(func() {
		if status, text := s.ask(t, http.MethodPost, "/v1/plan", snapshot); status != http.StatusOK {
			t.Errorf("the first: %d %s", status, text)
		}
	})
	<-in
	if status, text := s.ask(t, http.MethodPost, "/v1/plan", snapshot); status != http.StatusTooManyRequests {
		t.Errorf("the second: %d %s", status, text)
	}
	close(hold)
	group.Wait()
}

// What is no fault of a scheduler must not reach the client either.
func TestPanicsStayInside(t *testing.T) {
	s := newSite(t, baseline("fifo"), nil)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/policy", nil)
	w := &bomb{ResponseRecorder: httptest.NewRecorder(), calls: 2}
	s.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "boom") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	contains(t, w.Body.String(), "internal error")
	contains(t, s.log.String(), `"panic":"boom"`, "server_test.go")
}

// bomb is an answer that breaks at a call of Header.
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

func TestATokenIsAsked(t *testing.T) {
	const token = "0123456789abcdef"
	s := newSite(t, baseline("fifo"), func(c *serve.Config) { c.Token = token })
	for _, path := range []string{"/v1/policy", "/metrics"} {
		for _, h := range []string{"", token, "Bearer ", "Bearer x" + token, "Bearer " + token[:15], "Basic " + token} {
			if status, text := s.ask(t, http.MethodGet, path, "", "Authorization", h); status != http.StatusUnauthorized {
				t.Errorf("%s with %q: %d %s", path, h, status, text)
			}
		}
		if status, text := s.ask(t, http.MethodGet, path, "", "Authorization", "Bearer "+token); status != http.StatusOK {
			t.Errorf("%s with the token: %d %s", path, status, text)
		}
	}
	if status, _ := s.ask(t, http.MethodPost, "/v1/plan", snapshot); status != http.StatusUnauthorized {
		t.Errorf("a plan without a token: %d", status)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, _ := s.ask(t, http.MethodGet, path, ""); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestOthersAreServedOnlyWithTLSAndAToken(t *testing.T) {
	const token = "0123456789abcdef"
	for _, c := range []struct {
		address serve.Address
		token   string
		want    string // in the error, "" for none
	}{
		{serve.Address{Host: "127.0.0.1:0"}, "", ""},
		{serve.Address{Host: "[::1]:0"}, "", ""},
		{serve.Address{Host: "localhost:0"}, "", ""},
		{serve.Address{Host: "0.0.0.0:0", Cert: "c", Key: "k"}, token, ""},
		{serve.Address{Host: "0.0.0.0:0"}, "", "reached from elsewhere"},
		{serve.Address{Host: ":0"}, token, "reached from elsewhere"},
		{serve.Address{Host: "[::]:0"}, token, "reached from elsewhere"},
		{serve.Address{Host: "gpu-head:0", Cert: "c", Key: "k"}, "", "reached from elsewhere"},
		{serve.Address{Host: "0.0.0.0:0", Cert: "c"}, token, "want both"},
		{serve.Address{Host: "127.0.0.1:0"}, "short", "5 bytes"},
		{serve.Address{Host: "127.0.0.1"}, "", "host:port"},
	} {
		err := c.address.Validate(c.token)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v with token %q: %v, want %q", c.address, c.token, err, c.want)
		}
	}
}

func TestTLS(t *testing.T) {
	const token = "0123456789abcdef"
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	address := serve.Address{Host: "127.0.0.1:0", Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	for path, block := range map[string]*pem.Block{
		address.Cert: {Type: "CERTIFICATE", Bytes: cert}, address.Key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newSite(t, baseline("fifo"), func(c *serve.Config) { c.Token = token })
	ctx, end := context.WithCancel(t.Context())
	ln, err := address.Listen(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln, time.Hour, time.Minute, nil) }()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	for header, want := range map[string]int{"Bearer " + token: http.StatusOK, "Bearer 0123456789abcdeg": http.StatusUnauthorized} {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+ln.Addr().String()+"/v1/plan", strings.NewReader(snapshot))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", header)
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %s, want %d", header, res.Status, want)
		}
	}
	client.CloseIdleConnections()
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A request that has begun is answered when the server ends.
func TestTheServerDrains(t *testing.T) {
	hold, in := make(chan struct{}), make(chan struct{}, 1)
	s := newSite(t, scripted(func(*cluster.Txn) error { in <- struct{}{}; <-hold; return nil }).policy(), nil)
	address := serve.Address{Host: "127.0.0.1:0"}
	ctx, end := context.WithCancel(t.Context())
	ln, err := address.Listen(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	done, status := make(chan error, 1), make(chan int, 1)
	go func() { done <- s.Serve(ctx, ln, time.Hour, time.Minute, nil) }()
	go func() {
		res, err := http.Post("http://"+ln.Addr().String()+"/v1/plan", "application/json", strings.NewReader(snapshot))
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		_ = res.Body.Close()
		status <- res.StatusCode
	}()
	<-in
	end()
	for {
		if code, _ := s.ask(t, http.MethodGet, "/readyz", ""); code == http.StatusServiceUnavailable {
			break
		}
	}
	if code, _ := s.ask(t, http.MethodPost, "/v1/plan", snapshot); code != http.StatusServiceUnavailable {
		t.Errorf("a new request: %d", code)
	}
	close(hold)
	if got := <-status; got != http.StatusOK {
		t.Errorf("status %d of the request that had begun", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestABundleIsReloaded(t *testing.T) {
	var mu sync.Mutex
	current, stamp, fail := baseline("fifo"), "1", error(nil)
	set := func(p *serve.Policy, at string, err error) {
		mu.Lock()
		defer mu.Unlock()
		current, stamp, fail = p, at, err
	}
	s := newSite(t, nil, func(c *serve.Config) {
		c.Source = serve.Source{
			Load:  func() (*serve.Policy, error) { mu.Lock(); defer mu.Unlock(); return current, fail },
			Stamp: func() (string, error) { mu.Lock(); defer mu.Unlock(); return stamp, nil },
		}
	})
	decides := func(want string) {
		t.Helper()
		s.Reload(false)
		if got := s.decide(t).Policy; got != want {
			t.Errorf("%s decides, want %s", got, want)
		}
	}
	set(baseline("sjfskip"), "1", nil)
	decides("fifo") // the stamp is as it was
	set(baseline("sjfskip"), "2", nil)
	decides("sjfskip")
	set(nil, "3", errors.New("checksum does not match"))
	decides("sjfskip")
	decides("sjfskip")
	contains(t, s.metrics(t), `clustergym_reloads_total{result="ok"} 1`, `clustergym_reloads_total{result="refused"} 1`)
	contains(t, s.log.String(), "checksum does not match", "the old one goes on")
	set(baseline("las"), "3", nil)
	s.Reload(true)
	decides("las")
}

// A request keeps the policy that it began with.
func TestARequestKeepsItsPolicy(t *testing.T) {
	hold, in := make(chan struct{}), make(chan struct{}, 1)
	first := scripted(func(*cluster.Txn) error { in <- struct{}{}; <-hold; return nil }).policy()
	stamp, current := "1", first
	s := newSite(t, nil, func(c *serve.Config) {
		c.Source = serve.Source{
			Load: func() (*serve.Policy, error) { return current, nil }, Stamp: func() (string, error) { return stamp, nil },
		}
	})
	got := make(chan string, 1)
	go func() {
		_, text := s.ask(t, http.MethodPost, "/v1/plan", snapshot)
		got <- text
	}()
	<-in
	stamp, current = "2", baseline("fifo")
	s.Reload(false)
	if a := s.decide(t); a.Decision.Policy != "fifo" {
		t.Errorf("a request after the reload: %+v", a.Decision)
	}
	close(hold)
	contains(t, <-got, `"policy": "scripted"`)
}

// Teams share one policy, and its physics.
func TestTeamsDecideSideBySide(t *testing.T) {
	team, _, err := agents.LoadFS(released.FS())
	if err != nil {
		t.Fatal(err)
	}
	model, err := physics.Parse("gpu-type*cpu-mem*network(300,25,100)*diminishing(0.1)")
	if err != nil {
		t.Fatal(err)
	}
	from := &serve.Policy{Name: "prior", New: func() (cluster.Scheduler, error) { return agents.NewPrior(team), nil }}
	p := &serve.Policy{
		Name: "team", Prior: from, New: func() (cluster.Scheduler, error) { return agents.NewTeam(team), nil },
	}
	s := newSite(t, p, func(c *serve.Config) { c.Parallel, c.Profile = 8, physics.Profiled(model) })
	want := s.decide(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			got := s.decide(t)
			if !reflect.DeepEqual(want.Plan, got.Plan) || got.Decision.By != serve.ByPolicy || !got.Decision.Beside {
				t.Errorf("%+v of %+v, want %+v", got.Plan, got.Decision, want.Plan)
			}
		})
	}
	group.Wait()
}

func FuzzPlanRequest(f *testing.F) {
	f.Add([]byte(snapshot))
	f.Add([]byte(`{"version":1,"now_s":0,"servers":[],"jobs":[]}`))
	f.Add([]byte(strings.Replace(snapshot, `"estimate_s":60`, `"min_workers":1,"estimate_s":0`, 1)))
	s := newSite(f, baseline("sjfskip"), nil)
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

func logPath(t testing.TB) string { return filepath.Join(t.TempDir(), "decisions.jsonl") }
