package measure

import (
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/clustergym/clustergym/internal/must"
)

const usualQuery = "sum by (namespace, pod) (rate(train_samples_total[1m]))"

// serving serves the query API over TLS, as the handler says, and returns a configuration for it.
func serving(t *testing.T, handler http.HandlerFunc) Prometheus {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	dir := t.TempDir()
	c := Prometheus{
		URL: server.URL + "/prefix/", Query: usualQuery, CA: filepath.Join(dir, "ca.crt"), TokenFile: filepath.Join(dir, "token"),
		Every: time.Hour, Timeout: 10 * time.Second,
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for path, text := range map[string][]byte{c.CA: ca, c.TokenFile: []byte("secret\n")} {
		must.Do(t, os.WriteFile(path, text, 0o600))
	}
	return c
}

func poller(t *testing.T, c Prometheus) *Poller {
	t.Helper()
	queries := must.Get(NewQueries(prometheus.NewRegistry()))(t)
	p := must.Get(NewPoller(c, queries, slog.New(slog.DiscardHandler)))(t)
	return p
}

// TestPollerAsks checks what a server is asked, and that a failure takes the samples away.
func TestPollerAsks(t *testing.T) {
	broken := false
	config := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if broken {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		if r.Method != http.MethodPost || r.URL.Path != "/prefix/api/v1/query" || r.FormValue("query") != usualQuery ||
			r.FormValue("timeout") != "2.5" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("asked %s %s with %v, %q", r.Method, r.URL, r.Form, r.Header.Get("Authorization"))
		}
		_, _ = w.Write([]byte(vector(sample("a", "p", `"12.5"`))))
	})
	config.Timeout = 2500 * time.Millisecond
	p := poller(t, config)
	if p.Samples() != nil {
		t.Errorf("samples %v before the first answer", p.Samples())
	}
	p.poll(t.Context())
	if got := p.Samples()[Pod{"a", "p"}].Speed; got != 12.5 {
		t.Errorf("samples %v, want 12.5 of a/p", p.Samples())
	}
	broken = true
	p.poll(t.Context())
	if len(p.Samples()) != 0 {
		t.Errorf("samples %v after a failure", p.Samples())
	}
	ok, failed := testutil.ToFloat64(p.queries.WithLabelValues("ok")), testutil.ToFloat64(p.queries.WithLabelValues("failed"))
	if ok != 1 || failed != 1 {
		t.Errorf("%v queries and %v failed, want 1 and 1", ok, failed)
	}
}

// TestPollerRefuses checks the answers from which nothing is taken.
func TestPollerRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		change func(*Prometheus)
		err    string
	}{
		{"another status", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }, nil, "403 Forbidden"},
		{"an error of the query", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"status":"error","error":"parse error"}`))
		}, nil, `answer 400 Bad Request: the server says "parse error"`},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/prefix/api/v1/query" {
				t.Error("a redirect was followed with the token")
			}
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, nil, "307 Temporary Redirect"},
		{"too slow", func(_ http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm() // the server notices that the client is gone once the body is read
			<-r.Context().Done()
		},
			func(p *Prometheus) { p.Timeout = 50 * time.Millisecond }, "deadline exceeded"},
		{"too long", func(w http.ResponseWriter, _ *http.Request) {
			line := []byte(strings.Repeat(" ", 1<<20))
			for range mostAnswer>>20 + 1 {
				_, _ = w.Write(line)
			}
		}, nil, "bytes, want at most"},
		{"a certificate of somebody else", nil, func(p *Prometheus) { p.CA = "" }, "certificate"},
		{"no token", nil, func(p *Prometheus) { p.TokenFile += ".missing" }, "read token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := serving(t, c.answer)
			if c.change != nil {
				c.change(&config)
			}
			if got, err := poller(t, config).ask(t.Context()); err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%d samples and error %v, want one with %q", len(got), err, c.err)
			}
		})
	}
}

func TestBadPollers(t *testing.T) {
	good := Prometheus{URL: "http://prometheus:9090", Query: "x", Every: time.Second, Timeout: time.Second}
	poller(t, good)
	for _, c := range []struct {
		name   string
		change func(*Prometheus)
		err    string
	}{
		{"no scheme", func(p *Prometheus) { p.URL = "prometheus:9090" }, `URL "prometheus:9090", want http or https`},
		{"another scheme", func(p *Prometheus) { p.URL = "file:///etc/passwd" }, "want http or https"},
		{"a password", func(p *Prometheus) { p.URL = "https://a:b@prometheus" }, "neither a user nor a query"},
		{"no query", func(p *Prometheus) { p.Query = "" }, "want a query"},
		{"no time", func(p *Prometheus) { p.Every = 0 }, "times above 0"},
		{"a token without TLS", func(p *Prometheus) { p.TokenFile = "token" }, "want https, because the token would be readable"},
		{"no certificates", func(p *Prometheus) { p.CA = "prometheus_test.go" }, "no certificate, want PEM"},
		{"a missing file", func(p *Prometheus) { p.CA = "missing" }, "no such file"},
	} {
		bad := good
		c.change(&bad)
		if _, err := NewPoller(bad, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.err)
		}
	}
}
